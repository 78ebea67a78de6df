// Writes formulas of two points as CUDA text, which names the operations of a formula in order; the CUDA headers define
// these operations.
#include "cuda/sets/sets.h"

#include <set>

#include "cuda/text.h"
#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

const char* const places[] = {"o", "x", "y"};  // names of the levels in CUDA texts, indexed by Level

class Formula {
 public:
  explicit Formula(const Plan& plan) : plan_(plan), names_(plan.slots.size()) {
    for (size_t n = 1; n < plan.slots.size(); ++n) {
      const Slot& slot = plan.slots[n];
      if (slot.level != Level::pair) names_[n] = part(slot.offset, slot.size, places[int(slot.level)]);
    }
    names_[0] = "one<T>()";
  }

  std::string text(const std::string& name, const std::string& begin = "") {
    const std::string point = "const Once& o, const T* from, long long step, ";
    return "struct " + name + " {\n" + begin + sizes() + level("once(const T* from, Once& o)", Level::uniform) +
           level("row(" + point + "Row& x)", Level::row) + level("column(" + point + "Column& y)", Level::column) +
           pair() + "};\n";
  }

 private:
  std::string entries(Level where) const { return number(at_least_one(plan_.entries[int(where)])); }

  std::string sizes() const {
    return "  static constexpr int once = " + entries(Level::uniform) + ", row = " + entries(Level::row) +
           ", column = " + entries(Level::column) + ", size = " + number(plan_.slots[plan_.f].size) +
           ";\n  using Once = Vec<T, once>;\n  using Row = Vec<T, row>;\n  using Column = Vec<T, column>;\n";
  }

  // Writes the loads of a level (row, column or uniform). The steps that compute the other values of this level follow.
  std::string level(const std::string& head, Level where) const {
    const std::string place = places[int(where)];
    std::string out = "  KERNOPS_FN static void run_" + head + " {\n";
    for (const Load& load : plan_.loads[int(where)]) {
      const Slot& slot = plan_.slots[load.slot];
      const std::string offset = number(slot.offset), size = number(slot.size);
      if (load.kind == Load::constant)
        out += "    keep<" + offset + ">(Vec<T, 1>{" + constant(load.value) + "}, " + place + ");\n";
      else
        out += "    load<" + offset + ", " + size + ">(from, " + (where == Level::uniform ? "1" : "step") + ", " +
               place + ");\n";
    }
    for (const Step& step : plan_.steps[int(where)])
      out += "    keep<" + number(plan_.slots[step.out].offset) + ">(" + applied(step, step.size, names_) + ", " +
             place + ");\n";
    return out + "  }\n";
  }

  std::string pair() {
    std::string out = "  KERNOPS_FN static Vec<T, size> pair(const Once& o, const Row& x, const Column& y) {\n";
    int count = 0;
    for (const Step& step : plan_.steps[int(Level::pair)]) {
      const std::string name = "t" + number(count++);
      out += "    const auto " + name + " = " + applied(step, step.size, names_) + ";\n";
      names_[step.out] = name;  // the CPU reuses slots; in CUDA text, each value has a new name
    }
    return out + "    return " + names_[plan_.f] + ";\n  }\n";
  }

  const Plan& plan_;
  Names names_;
};

std::string text_of(const std::string& kernels, const Kernel& covariance, const Kernel* slopes, bool single,
                    bool split) {
  const std::string layout = std::string("  static constexpr bool split = ") + (split ? "true" : "false") + ";\n";
  return std::string("#include <kernops/cuda/sets/sums.cuh>\nusing namespace kernops;\nusing T = ") +
         (single ? "float" : "double") + ";\n" + Formula(plan_of(covariance)).text("Covariance", layout) +
         (slopes ? Formula(plan_of(*slopes)).text("Slopes") : "using Slopes = NoSlopes;\n") + kernels +
         "(T, Covariance, Slopes)\n";
}

}  // namespace

const Plan& plan_of(const Kernel& kernel) { return kernel.plans[number_of(cpu_backend())].at(0); }

bool sees_differences(const Plan& plan) {
  std::set<int> points;
  for (const Level level : {Level::row, Level::column})
    for (const Load& load : plan.loads[int(level)]) points.insert(load.slot);
  for (const auto& steps : plan.steps)
    for (const Step& step : steps) {
      const OpRow& op = op_row(step.op);
      const size_t count = op.vectors.size();
      const auto is_point = [&](size_t n) { return points.count(step.in[n]) > 0; };
      size_t read = 0;
      for (size_t n = 0; n < count; ++n) read += is_point(n);
      const bool subtracts = op.is(OpId::Subtract) || (op.contraction && *op.contraction != Contraction::product);
      if (read > 0 && !(subtracts && read == 2 && is_point(count - 2) && is_point(count - 1))) return false;
    }
  return points.count(plan.f) == 0;
}

std::string set_sums_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split) {
  return text_of("KERNOPS_SETS", covariance, slopes, single, split);
}

std::string set_weights_text(const Kernel& covariance, const Kernel* slopes, bool single, bool split) {
  return text_of("KERNOPS_SET_WEIGHTS", covariance, slopes, single, split);
}

}  // namespace cuda
}  // namespace kernops
