// How the kernel of a plan is laid out on a GPU.
#include <kernops/device_job.h>

#include <algorithm>

#include "cuda.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int shared_bytes = 48 * 1024;  // what every GPU has for a block

bool grouped(const Plan& plan) { return reduction_table()[plan.reduction.row].exponentiates(); }

// About how many numbers a row keeps in registers, its own entries among them.
int words(const Plan& plan, int entries) {
  return entries + plan.entries[int(Place::pair)] + plan.f_size * (3 + 2 * plan.reduction.k) +
         (grouped(plan) ? 16 + 3 * plan.w_size : 0);
}

// Rows per thread: many amortise the loads of the lanes, few leave registers to long values and fill the
// card. The limits are where the H200 changed its mind.
Shape narrow_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const int needed = words(plan, plan.kept[int(Place::row)]);
  int most = settings.single && needed <= (plan.expansion.exponent ? 12 : 22) ? 4
             : needed <= (settings.single ? 48 : 24)                          ? 2
                                                                              : 1;
  if (grouped(plan) && plan.expansion.exponent) most = 1;
  if (plan.factor && plan.f_size > 1) most = std::min(most, 2);
  while (most > 2 && rows < Count(most) * 64 * multiprocessors) most /= 2;
  if (rows > few_rows && rows < Count(most) * 32 * multiprocessors) most = 1;
  int threads = rows <= few_rows && most == 2                             ? 64
                : settings.single && rows >= Count(256) * multiprocessors ? 256
                                                                          : 128;
  const int lane_bytes = padded(plan.entries[int(Place::lane)], 8) * 8;
  while (threads > 32 && threads * lane_bytes > shared_bytes) threads /= 2;  // a tile has as many lanes
  return {Shape::narrow, most, threads, threads};
}

}  // namespace

// While a thread can hold a row in its registers, it is better off with it; inner products are shared
// earlier. Few rows take less time than filling the places of their lanes, so these are kept short.
TiledPlan tiled(const Plan& plan, Count rows) {
  const bool expands = rows > few_rows;
  const int needed = words(plan, plan.entries[int(Place::row)]);
  const TiledPlan shared = tile(plan, needed > 18, expands);
  const bool product =
      std::any_of(shared.contractions.begin(), shared.contractions.end(),
                  [&](const Entries& made) { return shared.is_product(made) && made.size >= 32; });
  TiledPlan chosen =
      needed > 72 || product || shared.inner_product.size > 0 ? shared : tile(plan, false, expands);
  if (!expands) chosen.id = -1 - plan.id;
  return chosen;
}

// Long vectors, and lanes too long for shared memory, go the wide way: 128 rows a block, one a thread once
// they are contracted, and so many lanes that what a thread has of their pairs stays in registers.
Shape choose_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const bool too_long = 32 * padded(plan.entries[int(Place::lane)], 8) * 8 > shared_bytes;
  if (!plan.tiled() && !too_long) return narrow_shape(plan, settings, rows, multiprocessors);
  int lanes = settings.single && plan.spread.size == 0 && plan.inner_product.size <= 64 ? 64 : 32;
  if (!settings.single && plan.spread.size > 0) lanes = 16;
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
