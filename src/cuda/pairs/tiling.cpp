// Constructs a TiledPlan from a Plan.
#include "cuda/pairs/tiling.h"

#include "formula/op_table.h"

namespace kernops {

int Tiling::new_slot(Level level, int size) {
  plan.slots.push_back({level, 0, size});
  used.push_back(false);
  return int(plan.slots.size()) - 1;
}

int Tiling::add(Level level, OpId op, int size, int a, int b) {
  const int out = new_slot(level, size);
  const auto sized = [&](int slot) { return SizedSlot{slot, plan.slots[slot].size}; };
  plan.steps[int(level)].push_back(make_step(op, {out, size}, sized(a), sized(b)));
  return out;
}

void Tiling::add_roots(int weights) {
  const int size = plan.slots[weights].size;
  plan.roots = add(Level::uniform, OpId::Sqrt, size, add(Level::uniform, OpId::Abs, size, weights));
  plan.entry_factors =
      add(Level::uniform, OpId::Mult, size, add(Level::uniform, OpId::Sign, size, weights), plan.roots);
}

int Tiling::constant(double value) {
  const int slot = new_slot(Level::uniform, 1);
  plan.loads[int(Level::uniform)].push_back({Load::constant, 0, slot, value});
  return slot;
}

int Tiling::first_row(int vector) {
  for (Load load : plan.loads[int(Level::row)]) {
    if (load.slot != vector) continue;
    load.slot = new_slot(Level::uniform, plan.slots[vector].size);
    plan.loads[int(Level::uniform)].push_back(load);
    return load.slot;
  }
  return 0;
}

Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b) {
  return {int(op), out.slot, out.size, {a.slot, b.slot, 0}, {a.size, b.size, 1}, {0, 0}};
}

}  // namespace kernops
