// Which plans reduce all pairs of many rows and columns at a time, and how.
#include "cuda/pairs/bulk.h"

#include <algorithm>

#include "formula/op_table.h"

namespace kernops {
namespace cuda {
namespace {

// Whether a panel's kernels can have what is added up. Where numbers are several, tiles are much slower.
bool fits_panels(const TiledPlan& plan, const Settings& settings) {
  const PanelPlan& panels = plan.panels;
  return !panels.terms.empty() && settings.scheme != SumScheme::kahan &&
         in_place(plan, of_bulk(settings), panels.several() ? 2 * little_work : little_work);
}

bool weighs(const TiledPlan& plan) { return reduction_table()[plan.reduction.row].exponentiates(); }

// A gradient's vectors, of rows and columns.
bool adds_differences(const PanelPlan& panels) {
  const PanelPlan::Term& term = panels.terms[0];
  return term.row && term.column;
}

// Tiles make the contractions again for some of the entries after the others, and those of several numbers term by
// term.
bool weighs_enough(int contracted, int summed, int least) {
  return contracted > 448 || (summed >= 128 && contracted + summed > least);
}

// Whether panels are faster than tiles on an H200, given many rows and columns.
bool gains_by_doubles(const TiledPlan& plan) {
  const PanelPlan& panels = plan.panels;
  const int contracted = panels.products[0].size, summed = panels.width;
  if (panels.several()) return contracted >= 24;
  if (weighs(plan)) return weighs_enough(contracted, summed, 280);
  if (adds_differences(panels)) return contracted > 112;
  return summed > 0 ? summed >= 32 && contracted > 256 : contracted > 512;
}
bool gains_by_digits(const TiledPlan& plan, const Settings& settings) {
  constexpr int longest = 1 << 15;  // vectors whose products of digits are less than 2^31
  const PanelPlan& panels = plan.panels;
  const int contracted = panels.products[0].size, summed = panels.width;
  if (contracted > longest) return false;
  if (panels.several()) return contracted >= 48;
  if (weighs(plan)) return weighs_enough(contracted, summed, 320);
  if (adds_differences(panels)) return contracted > (adds_by_tiles(settings) ? 256 : 128);
  return summed > 0 ? summed >= 32 && contracted > 320 : contracted > 448;
}

Bulk bulk_of(const TiledPlan& plan, const Settings& settings) {
  if (plan.nearest.k > 0) return Bulk::nearest;
  if (!fits_panels(plan, settings)) return Bulk::none;
  if (settings.single) return gains_by_digits(plan, settings) ? Bulk::digits : Bulk::none;
  return gains_by_doubles(plan) ? Bulk::panels : Bulk::none;
}

// Where they can, tiles are faster by warp groups for longer.
bool tiles_are_faster(const TiledPlan& tiled, const Settings& settings, Count rows) {
  const bool able = current_device().warpgroups() && takes_warpgroups(tiled, settings, rows);
  return able && (tiled.vector_sum.size > 0 || tiled.inner_product.size <= 896);
}

}  // namespace

TiledPlan for_bulk(const Plan& plan, const Settings& settings) {
  Wanted wanted;
  wanted.long_vectors = wanted.bulk = true;
  TiledPlan made = tile(plan, wanted);
  made.bulk = bulk_of(made, settings);
  return made;
}

Settings of_bulk(Settings settings) {
  settings.single = false;
  return settings;
}

bool gains_by_bulk(const TiledPlan& plan, const TiledPlan& tiled, const Settings& settings, Count rows, Count columns) {
  switch (plan.bulk) {
    case Bulk::none: return false;
    case Bulk::nearest: return gains_by_lists(plan, rows, columns);
    default: return gains_by_panels(plan, rows, columns) && !tiles_are_faster(tiled, settings, rows);
  }
}

std::vector<Shape> bulk_shapes(const TiledPlan& plan) {
  if (plan.bulk == Bulk::nearest) return {list_shape(1), list_shape(2)};
  return {panel_shape(plan)};
}

}  // namespace cuda
}  // namespace kernops
