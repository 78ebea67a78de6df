// c |x - y|^2 of an exponential, expanded: c |x|^2 + c |y|^2 + (-2 c x | y). The norms and vectors are
// computed once an item, which leaves one multiplication and addition for each entry of a pair. What cancels
// is as large as the norms, and an error of the exponent is a relative error of the exponential: kernels take
// the exponents this way while both norms are small (values.cuh).
#include <algorithm>

#include "op_table.h"
#include "tiled_plan.h"

namespace kernops {
namespace {

class Expander {
 public:
  Expander(const Plan& plan, bool shares_differences, int shortest)
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
          return {product.out, distance, factor, row, lane, 0, 0, 0, 0, 0};
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
    if (plan_.f == slot) return reduction_table()[plan_.reduction.row].exponentiates() && readers(slot) == 1;
    return std::all_of(
               steps_.begin(), steps_.end(),
               [=](const Step& step) { return op_row(step.op).name == "Exp2" || !reads(step, slot); }) &&
           plan_.w != slot;
  }

  const Plan& plan_;
  const std::vector<Step>& steps_;
  const bool shares_differences_;
  const int shortest_;
};

}  // namespace

Expansion find_expansion(const Plan& plan, bool shares_differences, int shortest) {
  return Expander(plan, shares_differences, shortest).make();
}

}  // namespace kernops
