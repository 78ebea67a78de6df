// How the kernel of a plan is laid out on a GPU.
#include <kernops/jobs/device.h>

#include <algorithm>
#include <set>

#include "cuda/cuda.h"
#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int shared_bytes = 48 * 1024;  // what every GPU has for a block

bool grouped(const Plan& plan) { return reduction_table()[plan.reduction.row].exponentiates(); }

// About how many numbers a row keeps in registers, its own entries among them.
int words(const Plan& plan, int entries) {
  return entries + plan.entries[int(Level::pair)] + plan.f_size * (3 + 2 * plan.reduction.k) +
         (grouped(plan) ? 16 + 3 * plan.w_size : 0);
}

// Entries of a level, but for those that only serve to make others.
int read_by_pairs(const Plan& plan, Level level) {
  std::set<int> read{plan.f, plan.w};
  for (const Step& step : plan.steps[int(Level::pair)]) read.insert(std::begin(step.in), std::end(step.in));
  int entries = 0;
  for (const int slot : read) entries += plan.slots[slot].level == level ? plan.slots[slot].size : 0;
  return entries;
}

// About how many instructions a pair takes.
int work(const TiledPlan& plan) {
  int entries = 0;
  for (const Step& step : plan.steps[int(Level::pair)]) {
    const OpRow& op = op_row(step.op);
    int most = step.size;
    for (size_t n = 0; n < op.vectors.size(); ++n) most = std::max(most, plan.slots[step.in[n]].size);
    if (op.work) most = int(op.work(step.sizes[0], step.sizes[1], step.sizes[2], step.ints[0], step.ints[1]));
    entries += most * op.cost;
  }
  return entries;
}

// Whether a pair adds to as many floats as keep the loads of its column busy.
bool sums_of_some(const TiledPlan& plan, const Settings& settings) {
  return adds_by_tiles(settings) && reduction_table()[plan.reduction.row].sums() && plan.f_size >= 8;
}

// Rows per thread: many amortise the loads of the columns, few leave registers to long values and fill the
// device. The limits are where the H200 changed its mind.
Shape narrow_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors) {
  const int needed = words(plan, plan.kept[int(Level::row)]);
  const Expansion& expansion = plan.expansion;
  const bool squared = expansion.exponent && !expansion.root && !expansion.rooted;
  int most = settings.single && needed <= (squared ? 12 : 22) ? 4 : needed <= (settings.single ? 48 : 24) ? 2 : 1;
  if ((grouped(plan) && expansion.exponent) || much_work(plan)) most = 1;
  if (plan.factor && plan.f_size > 1) most = std::min(most, 2);
  if (most == 2 && sums_of_some(plan, settings) && needed <= 40) most = 3;
  while (most > 2 && rows < Count(most) * 64 * multiprocessors) most = (most + 1) / 2;
  const bool few = rows <= few_rows, large = settings.single && most != 3 && rows >= Count(256) * multiprocessors;
  const bool bare_root = expansion.root && expansion.factors.empty();
  const int unrolled = much_work(plan) ? 1 : !settings.single || bare_root ? 4 : most == 3 ? 16 : 8;
  int threads = few ? int(few_rows) / most : large ? 256 : 128;
  const int column_bytes = padded(plan.entries[int(Level::column)], 8) * 8;
  while (threads > 32 && threads * column_bytes > shared_bytes) threads /= 2;  // a tile has as many columns
  const bool made = few && int(plan.loads[int(Level::column)].size()) <= PairJob::most_sources;
  return {Shape::narrow, most, threads, threads, unrolled, false, made};
}

// Numbers of pairs, or exponentials of these, times vectors.
bool adds_vectors(const TiledPlan& plan) {
  const ReductionRow& row = reduction_table()[plan.reduction.row];
  return plan.vector_sum.size > 0 && (row.sums() || row.exponentiates());
}

// Whether each pair adds a number of little work times a vector of the column (cuda/wide/vector_sum_columns.cuh).
bool sums_columns(const TiledPlan& plan, const Settings& settings) {
  return adds_by_tiles(settings) && adds_vectors(plan) && plan.adds_columns() && plan.contractions.empty() &&
         in_place(plan, settings);
}

constexpr int longest_resident = 320;  // of vectors of rows that stay in shared memory

// Two warp groups have rows of their own while a thread has room for the totals of 256 entries; beyond, half of the
// entries each, of the same rows. Columns are many where each tile loads its rows anew.
Shape by_warpgroups(const TiledPlan& plan) {
  const int contracted = plan.inner_product.size;
  const bool sums_vectors = plan.vector_sum.size > 0;
  Shape shape{sums_vectors ? Shape::vector_sum : Shape::wide, 2, 256,
              sums_vectors                    ? 32
              : contracted > longest_resident ? 128
                                              : 64};
  shape.warpgroups = sums_vectors && contracted > 256 ? 2 : 1;
  return shape;
}

// Whether columns of which pairs read much leave room in shared memory for the vectors of a block by warp groups.
bool leaves_room(const TiledPlan& plan) {
  const int kept = plan.kept[int(Level::column)], contracted = plan.inner_product.size;
  if (plan.vector_sum.size > 0) return kept <= 8 || contracted <= 400;
  return kept <= 4 || contracted <= 304 || contracted > longest_resident;
}

}  // namespace

bool adds_carefully(const Settings& settings) {
  return settings.scheme == SumScheme::kahan || (settings.single && settings.accumulate_double);
}
bool adds_by_tiles(const Settings& settings) { return settings.single && !adds_carefully(settings); }

// While a thread can hold a row in its registers, it is better off with it; inner products are shared
// earlier, and so are sums of vectors of the columns that tensor cores make.
TiledPlan tiled(const Plan& plan, const Settings& settings) {
  Wanted of_rows, of_tiles;
  of_rows.roots = !settings.single;
  const TiledPlan narrow = tile(plan, of_rows);
  const int taken_out = narrow.entry_factors ? plan.f_size : 0;  // of the products with them
  const int needed = words(plan, read_by_pairs(plan, Level::row)) - taken_out;
  of_tiles.long_vectors = needed > 15, of_tiles.products = adds_by_tiles(settings);
  const TiledPlan shared = tile(plan, of_tiles);
  const bool product = std::any_of(shared.contractions.begin(), shared.contractions.end(),
                                   [&](const Entries& made) { return shared.is_product(made) && made.size >= 32; });
  if (sums_columns(shared, settings) && plan.f_size >= 14) return shared;
  if (shared.vector_sum.size > 0 && grouped(plan)) return shared;
  return needed > 72 || product || shared.inner_product.size > 0 ? shared : narrow;
}

// Pairs that take longer than loading their columns gain nothing from more rows or from several columns at a time, and
// their code is long.
bool much_work(const TiledPlan& plan) { return work(plan) > 64; }

// Formulas of little work on a few values of rows and columns, which start at multiples of 16 bytes.
bool in_place(const TiledPlan& plan, const Settings& settings, int most_work) {
  const int bytes = settings.single ? 4 : 8;
  return plan.vector_sum.numbers.empty() && padded(plan.entries[int(Level::column)], bytes) * bytes % 16 == 0 &&
         work(plan) <= most_work && plan.kept[int(Level::row)] <= 8 && plan.kept[int(Level::column)] <= 16;
}

// Exponents and products that are expanded: for a number of each pair, or x - y times one, as long as these find room
// in shared memory.
bool takes_warpgroups(const TiledPlan& plan, const Settings& settings, Count rows) {
  constexpr int shortest = 33, longest_summed = 448;
  const ReductionRow& reduction = reduction_table()[plan.reduction.row];
  const int contracted = plan.inner_product.size;
  const bool sums = reduction.sums() && contracted <= longest_summed &&
                    (plan.row_in_vector_sum() != 0 || plan.sums_columns_of_product()),
             weighs = reduction.exponentiates() && plan.w_size <= 1,
             numbers = plan.vector_sum.size == 0 && plan.f_size == 1 && (reduction.sums() || weighs);
  return adds_by_tiles(settings) && in_place(plan, settings) && contracted >= shortest &&
         plan.contractions.size() == 1 && (sums || numbers) && leaves_room(plan) &&
         (rows > few_rows || contracted <= longest_resident);
}

// Long vectors, and columns too long for shared memory, go the wide way: 128 rows a block, one a thread once
// they are contracted, and so many columns that what a thread has of their pairs stays in registers. Where totals
// of long vectors do, too, there are half as many rows.
Shape choose_shape(const TiledPlan& plan, const Settings& settings, Count rows, int multiprocessors, bool warpgroups) {
  const bool too_long = 32 * padded(plan.entries[int(Level::column)], 8) * 8 > shared_bytes;
  if (!plan.tiled() && !too_long) return narrow_shape(plan, settings, rows, multiprocessors);
  int columns = settings.single && plan.vector_sum.size == 0 && plan.inner_product.size <= 64 ? 64 : 32;
  if (!settings.single && plan.vector_sum.size > 0 && !in_place(plan, settings)) columns = 16;
  if (sums_columns(plan, settings)) return {Shape::vector_sum, 4, 128, 64};
  const size_t numbers = std::max(plan.contractions.size(), plan.vector_sum.numbers.size());
  for (size_t n = 1; n < numbers; n *= 2) columns /= 2;
  const bool sums_vectors = plan.vector_sum.size > 0;
  if (warpgroups && takes_warpgroups(plan, settings, rows)) return by_warpgroups(plan);
  const int rows_per_thread = sums_vectors && in_place(plan, settings) ? 2 : 4;
  return {sums_vectors ? Shape::vector_sum : Shape::wide, rows_per_thread, 128, std::max(columns, 8)};
}

// What exceeds the registers of a thread is in memory, of which a device sets as much apart for each thread that it
// could run: some hundred thousand.
bool fits(const Plan& plan, const Settings& settings) {
  constexpr int most_words = 16384;
  if (words(plan, plan.entries[int(Level::row)]) <= most_words) return true;
  const TiledPlan shared = tiled(plan, settings);
  return shared.vector_sum.size > 0 || words(shared, shared.kept[int(Level::row)]) <= most_words;
}

// Each shape of choose_shape() serves twice as many rows as it begins with, at least.
std::vector<Shape> shapes(const TiledPlan& plan, const Settings& settings, Count least_rows, bool warpgroups) {
  std::vector<Shape> all;
  for (Count rows = 1 << 24; rows >= least_rows; rows /= 2) {
    const Shape shape = choose_shape(plan, settings, rows, 128, warpgroups);
    if (all.empty() || all.back().fields() != shape.fields()) all.push_back(shape);
  }
  return all;
}

}  // namespace cuda
}  // namespace kernops
