#include "cuda/pairs/text.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

bool is_special(const Step& step) { return op_row(step.op).special_unit; }

bool is_turn(const Step& step) { return op_row(step.op).is(OpId::Cos) || op_row(step.op).is(OpId::Sin); }

}  // namespace

const char* text_of(Atom atom) {
  const char* names[] = {"Plain", "Doubles", "Floats", "Halves", "Warpgroups", "Digits"};
  return names[int(atom)];
}

Words::Words(const TiledPlan& plan, const Settings& settings, const Recipe& recipe)
    : plan(plan), settings(settings), recipe(recipe), names(plan.slots.size()) {
  const char* level_names[] = {"o", "x", "y"};
  for (size_t n = 1; n < plan.slots.size(); ++n) {
    const Slot& slot = plan.slots[n];
    if (slot.level != Level::pair) names[n] = part(slot.offset, slot.size, level_names[int(slot.level)]);
  }
  names[0] = "one<T>()";
  for (size_t n = 0; n < plan.contractions.size(); ++n) names[plan.contractions[n].slot] = part(int(n), 1, "c");
}

bool Words::takes_turns(const Step& step) const {
  const auto& steps = plan.steps[int(Level::pair)];
  return op_row(step.op).is(OpId::Exp2) && !wide() && std::any_of(steps.begin(), steps.end(), is_special);
}

// Returns whether kernels use the fast range reduction of sines and cosines, which is valid only for small arguments. A
// tile with a large argument is computed again, from a copy of the state. Only sums have a state that is small enough
// to be copied.
bool Words::watches_turns() const {
  const auto& steps = plan.steps[int(Level::pair)];
  return settings.single && reduction_table()[plan.reduction.row].sums() &&
         std::any_of(steps.begin(), steps.end(), is_turn);
}

bool Words::has_own_call(const Step& step) const { return takes_turns(step) || (watches_turns() && is_turn(step)); }

std::string Words::call(const Step& step, int size, const Names& names) const {
  if (takes_turns(step)) return "exp2_in_turn(" + names[step.in[0]] + ", turn)";
  if (watches_turns() && is_turn(step))
    return std::string(op_row(step.op).is(OpId::Cos) ? "cos_by(turns, " : "sin_by(turns, ") + names[step.in[0]] + ")";
  return applied(step, size, names);
}
std::string Words::call_to(const std::string& result, const Step& step, const Names& names) const {
  return "apply_to<" + template_arguments(step, step.size) + ">(" + arguments(step, names, result);
}

}  // namespace cuda
}  // namespace kernops
