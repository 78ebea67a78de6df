// How the kernel of a plan is laid out on a GPU.
#include <kernops/device_job.h>

#include <algorithm>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int shared_bytes = 48 * 1024;  // what every GPU has for a block

// About how many numbers a row keeps in registers.
int words(const Plan& plan) {
  const ReductionRow& reduction = reduction_table()[plan.reduction.row];
  return plan.entries[int(Place::row)] + plan.entries[int(Place::pair)] +
         plan.f_size * (3 + 2 * plan.reduction.k) + (reduction.exponentiates() ? 16 + 3 * plan.w_size : 0);
}

bool two_rows_fit(const Plan& plan, const Settings& settings) {
  return words(plan) <= (settings.single ? 48 : 24);
}

// Rows per thread: many amortise the loads of the lanes, few leave registers to long values and fill the
// card. The limits are where the H200 changed its mind.
Shape narrow_shape(const Plan& plan, const Settings& settings, Count rows, int multiprocessors) {
  int most = !two_rows_fit(plan, settings) ? 1 : settings.single && words(plan) <= 22 ? 4 : 2;
  while (most > 1 && rows < Count(most) * 64 * multiprocessors) most /= 2;
  int threads = settings.single && rows >= Count(256) * multiprocessors ? 256 : 128;
  const int lane_bytes = padded(plan.entries[int(Place::lane)], 8) * 8;
  while (threads > 32 && threads * lane_bytes > shared_bytes) threads /= 2;  // a tile has as many lanes
  return {Shape::narrow, most, threads, threads};
}

}  // namespace

// While a thread can hold a row in its registers, it is better off with it.
TiledPlan tiled(const Plan& plan) { return tile(plan, words(plan) > 72); }

// Long vectors, and lanes too long for shared memory, go the wide way: 128 rows a block, one a thread once
// they are contracted, and so many lanes that the sums of 8 x (lanes / 8) pairs stay in registers.
Shape choose_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const bool too_long = 32 * padded(plan.entries[int(Place::lane)], 8) * 8 > shared_bytes;
  if (!plan.tiled() && !too_long) return narrow_shape(plan, settings, rows, multiprocessors);
  int lanes = settings.single ? 64 : 32;
  for (int sums = 1; sums < int(plan.contractions.size()); sums *= 2) lanes /= 2;
  return {plan.spread.size > 0 ? Shape::spread : Shape::wide, 1, 128, lanes};
}

// All limits of choose_shape() on the rows of a multiprocessor are powers of two.
std::vector<Shape> shapes(const TiledPlan& plan, const Settings& settings) {
  std::vector<Shape> all;
  const auto same = [](const Shape& a, const Shape& b) {
    return a.kind == b.kind && a.rows_per_thread == b.rows_per_thread && a.threads == b.threads &&
           a.lanes == b.lanes;
  };
  for (Count rows = 1 << 16; rows >= 1; rows /= 2) {
    const Shape shape = choose_shape(plan, settings, rows, 1);
    if (all.empty() || !same(all.back(), shape)) all.push_back(shape);
  }
  return all;
}

}  // namespace cuda
}  // namespace kernops
