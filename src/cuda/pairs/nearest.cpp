// Finds plans that select the nearest columns of each row, by distances or by inner products (cuda/wide/nearest.cuh).
#include "cuda/pairs/crossovers.h"
#include "cuda/pairs/tiling.h"
#include "formula/op_table.h"

namespace kernops {
namespace {

// Returns 1 if an accumulator selects the smallest numbers, -1 if the accumulator selects the largest numbers, and
// otherwise 0.
int takes(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::Min:
    case Accumulator::ArgMin:
    case Accumulator::MinArgMin:
    case Accumulator::KMin:
    case Accumulator::ArgKMin:
    case Accumulator::KMinArgKMin: return 1;
    case Accumulator::Max:
    case Accumulator::ArgMax:
    case Accumulator::MaxArgMax: return -1;
    default: return 0;
  }
}

}  // namespace

void find_nearest(TiledPlan& plan) {
  const Reduction& reduction = plan.reduction;
  const int sign = takes(reduction_table()[reduction.row].accumulator);
  if (sign == 0 || reduction.k > crossover::most_k) return;
  const Step* made = plan.maker(plan.f);
  const auto is = [&](OpId op) { return made && op_row(made->op).is(op); };
  const bool root = is(OpId::Sqrt), minus = is(OpId::Minus);
  if (root || minus) made = plan.maker(made->in[0]);
  const bool product = is(OpId::Scalprod) && !root;
  if (!product && (!is(OpId::SqDist) || minus || sign < 0)) return;
  int row = made->in[0], column = made->in[1];
  if (plan.slots[row].level == Level::column) std::swap(row, column);
  const Slot &x = plan.slots[row], &y = plan.slots[column];
  if (x.level != Level::row || y.level != Level::column || x.size != y.size) return;
  if (x.size < (product ? crossover::nearest_product : crossover::nearest)) return;
  const int k = std::max(reduction.k, 1);
  plan.nearest = {row, column, k, (k + k / 2 + 31) / 32 * 32, root, !product ? 0 : minus ? -sign : sign, sign < 0};
  plan.f = 0;
}

}  // namespace kernops
