// c |x - y|^2 of an exponential, expanded: c |x|^2 + c |y|^2 + (-2 c x | y). The norms and -2 c x are
// computed once an item, which leaves one multiplication and addition for each entry of a pair. What cancels
// is as large as the norms, and an error of the exponent is a relative error of the exponential: kernels take
// the exponents this way while both norms are small (values.cuh).
#include <algorithm>

#include "formula.h"

namespace kernops {
namespace {

class Expander {
 public:
  Expander(Plan& plan, bool shares_differences, int shortest)
      : plan_(plan),
        steps_(plan.steps[int(Place::pair)]),
        shares_differences_(shares_differences),
        shortest_(shortest) {}

  Expansion make() {
    for (const Step& product : steps_) {
      if (op_row(product.op).name != "Mult" || !only_exponentiated(product.out)) continue;
      for (const int n : {0, 1}) {
        const int factor = product.in[n], distance = product.in[1 - n];
        if (plan_.slots[factor].place != Place::once || plan_.slots[factor].size != 1) continue;
        const auto maker =
            std::find_if(steps_.begin(), steps_.end(), [=](const Step& s) { return s.out == distance; });
        if (maker == steps_.end() || op_row(maker->op).name != "SqDist" || readers(distance) != 1) continue;
        int row = maker->in[0], lane = maker->in[1];
        if (plan_.slots[row].place == Place::lane) std::swap(row, lane);
        if (plan_.slots[row].place == Place::row && plan_.slots[lane].place == Place::lane &&
            plan_.slots[row].size >= shortest_ && (!shares_differences_ || readers(row) == 1))
          return expanded(product.out, distance, factor, row, lane);
      }
    }
    return {};
  }

 private:
  static bool reads(const Step& step, int slot) {
    return std::find(std::begin(step.in), std::end(step.in), slot) != std::end(step.in);
  }
  long readers(int slot) const {
    return std::count_if(steps_.begin(), steps_.end(), [=](const Step& step) { return reads(step, slot); }) +
           (plan_.f == slot) + (plan_.w == slot);
  }

  bool only_exponentiated(int slot) const {
    if (plan_.f == slot)
      return reduction_table()[plan_.reduction.row].exponentiates() && readers(slot) == 1;
    return std::all_of(
               steps_.begin(), steps_.end(),
               [=](const Step& step) { return op_row(step.op).name == "Exp2" || !reads(step, slot); }) &&
           plan_.w != slot;
  }

  int computed(Place place, const char* op, int size, int a, int b = 0, int out = 0) {
    if (!out) {
      plan_.slots.push_back({place, 0, size});
      out = int(plan_.slots.size()) - 1;
    }
    plan_.steps[int(place)].push_back({op_table()[find_op(op)].id,
                                       out,
                                       size,
                                       {a, b, 0},
                                       {plan_.slots[a].size, plan_.slots[b].size, 1},
                                       {0, 0}});
    return out;
  }
  int norm(Place place, int vector, int factor) {
    const int slot = computed(place, "SqNorm2", 1, vector);
    return computed(place, "Mult", 1, factor, slot, slot);
  }

  Expansion expanded(int exponent, int distance, int factor, int row, int lane) {
    const int twice = computed(Place::once, "Add", 1, factor, factor);
    const int scale = computed(Place::once, "Minus", 1, twice, 0, twice);
    const int size = plan_.slots[row].size;
    return {exponent,
            distance,
            norm(Place::row, row, factor),
            norm(Place::lane, lane, factor),
            computed(Place::row, "Mult", size, scale, row),
            lane,
            row};
  }

  Plan& plan_;
  std::vector<Step>& steps_;
  const bool shares_differences_;
  const int shortest_;
};

}  // namespace

Expansion expand(Plan& plan, bool shares_differences, int shortest) {
  return Expander(plan, shares_differences, shortest).make();
}

}  // namespace kernops
