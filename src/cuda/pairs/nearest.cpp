// The nearest columns of each row, where vectors are long: by |x|^2 + |y|^2 - 2 (x | y), seen from the first row,
// panels find those that may be among them (cuda/wide/panel_nearest.cuh).
#include "cuda/pairs/tiling.h"
#include "formula/op_table.h"

namespace kernops {
namespace {

constexpr int most_nearest = 256;

bool takes_smallest(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::Min:
    case Accumulator::ArgMin:
    case Accumulator::MinArgMin:
    case Accumulator::KMin:
    case Accumulator::ArgKMin:
    case Accumulator::KMinArgKMin: return true;
    default: return false;
  }
}

}  // namespace

void find_nearest(Tiling& tiling) {
  TiledPlan& plan = tiling.plan;
  const Reduction& reduction = plan.reduction;
  if (!takes_smallest(reduction_table()[reduction.row].accumulator) || reduction.k > most_nearest) return;
  const Step* made = plan.maker(plan.f);
  const bool root = made && op_row(made->op).is(OpId::Sqrt);
  if (root) made = plan.maker(made->in[0]);
  if (!made || !op_row(made->op).is(OpId::SqDist)) return;
  int row = made->in[0], column = made->in[1];
  if (plan.slots[row].level == Level::column) std::swap(row, column);
  if (plan.slots[row].level != Level::row || plan.slots[column].level != Level::column ||
      plan.slots[row].size != plan.slots[column].size || plan.slots[row].size < long_vector)
    return;
  const int centre = tiling.first_row(row);
  if (!centre) return;
  const auto seen = [&](Level level, int vector) {
    const int from_centre = tiling.add(level, OpId::Subtract, plan.slots[vector].size, vector, centre);
    tiling.used[tiling.add(level, OpId::SqNorm2, 1, from_centre)] = true;
    return from_centre;
  };
  const int x = seen(Level::row, row), y = seen(Level::column, column), k = std::max(reduction.k, 1);
  plan.nearest = {row, column, k, (k + k / 2 + 31) / 32 * 32, root};
  plan.f = tiling.add(Level::pair, OpId::Scalprod, 1, x, y);
}

}  // namespace kernops
