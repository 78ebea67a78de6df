// The nearest columns of each row (cuda/wide/nearest.cuh): which plans look for them.
#include "cuda/pairs/tiling.h"
#include "formula/op_table.h"

namespace kernops {
namespace {

constexpr int most_nearest = 256;
constexpr int shortest = 6;  // below, differences are as fast

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

void find_nearest(TiledPlan& plan) {
  const Reduction& reduction = plan.reduction;
  if (!takes_smallest(reduction_table()[reduction.row].accumulator) || reduction.k > most_nearest) return;
  const Step* made = plan.maker(plan.f);
  const bool root = made && op_row(made->op).is(OpId::Sqrt);
  if (root) made = plan.maker(made->in[0]);
  if (!made || !op_row(made->op).is(OpId::SqDist)) return;
  int row = made->in[0], column = made->in[1];
  if (plan.slots[row].level == Level::column) std::swap(row, column);
  const Slot &x = plan.slots[row], &y = plan.slots[column];
  if (x.level != Level::row || y.level != Level::column || x.size != y.size || x.size < shortest) return;
  const int k = std::max(reduction.k, 1);
  plan.nearest = {row, column, k, (k + k / 2 + 31) / 32 * 32, root};
  plan.f = 0;
}

}  // namespace kernops
