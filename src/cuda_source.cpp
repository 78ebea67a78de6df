// A Plan as CUDA text: names and order only. What they mean stands in the headers under inst/include.
#include "cuda.h"

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

std::string number(int n) { return std::to_string(n); }

class Writer {
 public:
  Writer(const Plan& plan, const Settings& settings, const Shape& shape)
      : plan_(plan), settings_(settings), shape_(shape), names_(plan.slots.size()) {
    const char* place_names[] = {"o", "x", "y"};
    for (size_t n = 1; n < plan.slots.size(); ++n) {
      const Slot& slot = plan.slots[n];
      if (slot.place != Place::pair)
        names_[n] = "part<" + number(slot.offset) + ", " + number(slot.size) + ">(" + place_names[int(slot.place)] + ")";
    }
    names_[0] = "one<T>()";
  }

  std::string text() {
    const std::string type = settings_.single ? "float" : "double";
    std::string out = "#include <kernops/map_reduce.cuh>\nusing namespace kernops;\n\nstruct Formula {\n  using T = " + type + ";\n";
    out += "  static constexpr int once = " + number(plan_.entries[0]) + ", row = " + number(at_least_one(plan_.entries[1])) +
           ", lane = " + number(at_least_one(plan_.entries[2])) + ";\n";
    out += "  using F = Vec<T, " + number(plan_.slots[plan_.f].size) + ">;\n  using W = Vec<T, " + number(plan_.w_size) + ">;\n";
    out += place("run_once(O& o)", "O", Place::once, "o");
    out += place("run_row(const O& o, X& x)", "O, class X", Place::row, "x");
    out += place("run_lane(const O& o, Y& y)", "O, class Y", Place::lane, "y");
    out += "  template <class O, class X, class Y> KERNOPS_FN static void pair(const O& o, const X& x, const Y& y, F& f, W& w) {\n";
    for (const Step& step : plan_.steps[int(Place::pair)]) out += pair_step(step);
    out += "    f = " + names_[plan_.f] + ";\n    w = " + names_[plan_.w] + ";\n  }\n};\n\n";
    const ReductionRow& row = reduction_table()[plan_.reduction.row];
    out += "using Row = engines::" + engine(row) + "<" + type + ", " + number(plan_.f_size) + ", " +
           number(plan_.w == 0 ? 0 : plan_.w_size) + ", " + number(std::max(plan_.reduction.k, 1)) + ">;\n";
    return out + "KERNOPS_KERNELS(Formula, Row, " + number(shape_.rows_per_thread) + ", " + number(shape_.threads) + ")\n";
  }

 private:
  static int at_least_one(int n) { return n > 0 ? n : 1; }

  std::string engine(const ReductionRow& row) const {
    if (row.engine != "Sum") return row.engine;
    return settings_.scheme == SumScheme::direct ? "DirectSum" : settings_.scheme == SumScheme::kahan ? "KahanSum" : "Sum";
  }

  std::string call(const Step& step) const {
    static const std::vector<const OpRow*> rows = [] {
      std::vector<const OpRow*> by_id;
      for (const OpRow& row : op_table())
        if (row.id >= 0) by_id.push_back(&row);
      return by_id;
    }();
    const OpRow& op = *rows[step.op];
    std::string text = "apply<ops::" + op.name + ", " + number(step.size) + ", " + number(step.ints[0]) + ", " + number(step.ints[1]);
    text += op.vectors.empty() ? ", T>(" : ">(";
    for (size_t n = 0; n < op.vectors.size(); ++n) text += (n ? ", " : "") + names_[step.in[n]];
    return text + ")";
  }

  std::string place(const std::string& head, const std::string& types, Place where, const std::string& target) const {
    std::string out = "  template <class " + types + "> KERNOPS_FN static void " + head + " {\n";
    if (where == Place::once) out += "    o.v[0] = 1;\n";
    for (const Step& step : plan_.steps[int(where)])
      out += "    put<" + number(plan_.slots[step.out].offset) + ", " + number(step.size) + ">(" + target + ", " + call(step) + ");\n";
    return out + "  }\n";
  }

  // Buffers that the CPU reuses are new names here.
  std::string pair_step(const Step& step) {
    const std::string name = "t" + number(steps_++), text = "    const auto " + name + " = " + call(step) + ";\n";
    names_[step.out] = name;
    return text;
  }

  const Plan& plan_;
  const Settings& settings_;
  const Shape& shape_;
  std::vector<std::string> names_;
  int steps_ = 0;
};

}  // namespace

int padded(int entries, int bytes) {
  const int size = entries * bytes;
  return (size <= 4 ? 4 : size <= 8 ? 8 : (size + 15) / 16 * 16) / bytes;
}

// Rows per thread: many amortise the loads of the lanes, few leave registers to long values and long formulas, and fill
// the card. The numbers keep the catalogue's kernels free of spills, as the tests see to.
std::vector<Shape> shapes(const Plan& plan, const Settings& settings) {
  const std::string& engine = reduction_table()[plan.reduction.row].engine;
  const int at_once = engine == "LogSumExp" || engine == "SoftMax" ? 8 : 0;  // its values of a group
  const int held = plan.entries[int(Place::row)] + plan.entries[int(Place::pair)] +
                   3 * plan.f_size * (1 + plan.reduction.k) + at_once;
  const int registers = (2 * held + int(plan.steps[int(Place::pair)].size())) / (settings.single ? 2 : 1);
  int threads = 128;  // a tile has as many lanes, and must fit the static shared memory
  while (threads > 32 && threads * padded(plan.entries[int(Place::lane)], 8) * 8 > 48 * 1024) threads /= 2;
  std::vector<Shape> all;
  for (int rows = registers <= 31 ? 4 : registers <= 56 ? 2 : 1; rows >= 1; rows /= 2) all.push_back({rows, threads});
  return all;
}

std::string source(const Plan& plan, const Settings& settings, const Shape& shape) {
  return Writer(plan, settings, shape).text();
}

}  // namespace cuda
}  // namespace kernops
