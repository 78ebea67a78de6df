// Computes the three layouts of a plan (by rows, by tiles, in bulk) and the features of each layout.
#include <set>

#include "cuda/pairs/choose.h"
#include "cuda/pairs/crossovers.h"
#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

const ReductionRow& row_of(const Plan& plan) { return reduction_table()[plan.reduction.row]; }

// Estimates the number of registers for the data and the state of a row; `entries` is the number of entries that are
// loaded for a row.
int registers(const Plan& plan, int entries) {
  return entries + plan.entries[int(Level::pair)] + plan.f_size * (3 + 2 * plan.reduction.k) +
         (row_of(plan).exponentiates() ? 16 + 3 * plan.w_size : 0);
}

// Counts the entries of a row that pairs read. Entries that are only used to compute other entries of the row are not
// counted.
int read_by_pairs(const Plan& plan) {
  std::set<int> read{plan.f, plan.w};
  for (const Step& step : plan.steps[int(Level::pair)]) read.insert(std::begin(step.in), std::end(step.in));
  int entries = 0;
  for (const int slot : read) entries += plan.slots[slot].level == Level::row ? plan.slots[slot].size : 0;
  return entries;
}

// Estimates the number of instructions for a pair.
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

LayoutFeatures features_of(const TiledPlan& plan) {
  const Expansion& e = plan.expansion;
  LayoutFeatures f{};
  f.registers = registers(plan, plan.kept[int(Level::row)]), f.work = work(plan);
  f.row_entries = plan.entries[int(Level::row)], f.row_sources = int(plan.loads[int(Level::row)].size());
  f.column_entries = plan.entries[int(Level::column)], f.column_sources = int(plan.loads[int(Level::column)].size());
  f.kept_row = plan.kept[int(Level::row)], f.kept_column = plan.kept[int(Level::column)];
  f.contractions = int(plan.contractions.size()), f.inner_product = plan.inner_product.size;
  for (const Entries& made : plan.contractions)
    if (plan.is_product(made)) f.longest_product = std::max(f.longest_product, made.size);
  f.vector_sum = plan.vector_sum.size, f.numbers = int(plan.vector_sum.numbers.size());
  f.adds_columns = plan.adds_columns(), f.adds_difference = plan.row_in_vector_sum() != 0;
  f.adds_product = plan.sums_columns_of_product();
  f.expands = e.exponent != 0, f.squared = f.expands && !e.root && !e.rooted;
  f.bare_root = e.root && e.factors.empty(), f.factor = plan.factor != 0;
  return f;
}

PairFeatures features_of(const std::array<TiledPlan, 3>& plans) {
  const TiledPlan& rows = plans[size_t(Layout::by_rows)];
  const TiledPlan& bulk = plans[size_t(Layout::in_bulk)];
  PairFeatures f{features_of(rows), features_of(plans[size_t(Layout::by_tiles)]), features_of(bulk)};
  const int taken_out = rows.entry_factors ? rows.f_size : 0;  // these factors multiply the sum, and not each term
  f.row = registers(rows, read_by_pairs(rows)) - taken_out;
  f.size = rows.f_size, f.weights = rows.w_size, f.k = rows.reduction.k;
  f.sums = row_of(rows).sums(), f.exponentiates = row_of(rows).exponentiates(), f.stores = rows.stores;
  if (bulk.nearest.k > 0) f.nearest = bulk.slots[bulk.nearest.row].size;
  if (bulk.panels.terms.empty()) return f;
  const PanelPlan::Term& term = bulk.panels.terms[0];
  f.contracted = bulk.panels.products[0].size, f.panel_sum = bulk.panels.width, f.several = bulk.panels.several();
  f.differences = term.row && term.column;
  return f;
}

}  // namespace

Layouts lay_out(const Plan& plan, const Settings& settings) {
  Wanted rows, tiles, bulk;
  rows.roots = !settings.single;
  tiles.long_vectors = bulk.long_vectors = bulk.bulk = true;
  tiles.products = adds_by_tiles(settings);
  Layouts made{{tile(plan, rows), tile(plan, tiles), tile(plan, bulk)}, {}};
  for (TiledPlan& each : made.plans) each.cache.reset();  // the cache owns the layouts, which must not own the cache
  made.features = features_of(made.plans);
  return made;
}

// Returns whether a thread can hold the values of a pair in registers and local memory.
bool fits(const Plan& plan, const Settings& settings) {
  if (registers(plan, plan.entries[int(Level::row)]) <= crossover::most_registers) return true;
  const PairFeatures f = lay_out(plan, settings).features;
  const Gpu any("sm_80", 1, true);
  const Recipe recipe = choose(f, settings, any, {1, 1}, last_attempt);
  const LayoutFeatures& taken = recipe.layout == Layout::by_rows ? f.by_rows : f.by_tiles;
  return taken.vector_sum > 0 || taken.registers <= crossover::most_registers;
}

}  // namespace cuda
}  // namespace kernops
