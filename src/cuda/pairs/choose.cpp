#include "cuda/pairs/choose.h"

#include <kernops/jobs/device.h>
#include <kernops/jobs/nearest.h>

#include "cuda/pairs/crossovers.h"

namespace kernops {
namespace cuda {
namespace {

namespace table = crossover;

// Chooses a recipe (the kernel and its parameters) from the features of a plan. Several decisions test the same
// conditions; therefore these conditions are member functions.
class Chooser {
 public:
  Chooser(const PairFeatures& pairs, const Settings& settings, const Gpu& gpu, const Extent& extent)
      : p(pairs), s(settings), gpu(gpu), extent(extent) {}

  Recipe choose(int attempt) const {
    const auto [layout, reason] = layout_of_tiles();
    const LayoutFeatures& f = layout == Layout::by_rows ? p.by_rows : p.by_tiles;
    if (takes_lists() && attempt < 2) return lists(attempt + 1);
    if (takes_panels(f) && attempt < 1) return panels();
    const bool tiled = f.contractions > 0 || f.vector_sum > 0;
    Recipe made = tiled || is_too_long(f) ? wide(f) : narrow(f);
    made.layout = layout,
    made.reason = made.mainloop == Mainloop::narrow || tiled ? reason : "columns are too long for a thread";
    made.in_place = in_place(f, s), made.much_work = f.work > table::much_work;
    return extent.ranges ? fitted(made) : made;
  }

 private:
  struct LayoutChoice {
    Layout layout;
    const char* reason;
  };

  // Chooses between the layout that keeps rows in registers and the layout that uses tiles. Rows in registers are
  // faster as long as a row fits into the registers of a thread. For inner products and for sums of vectors of the
  // columns, tensor cores make tiles faster even for shorter vectors.
  LayoutChoice layout_of_tiles() const {
    const LayoutFeatures& f = p.by_tiles;
    if (p.row <= table::any_tiles) return {Layout::by_rows, "a thread keeps its rows in registers"};
    if (sums_columns(f) && p.size >= table::columns_by_tiles)
      return {Layout::by_tiles, "a product of matrices sums the vectors of the columns"};
    if (f.vector_sum > 0 && p.exponentiates) return {Layout::by_tiles, "exponentials weigh long vectors"};
    if (f.inner_product > 0) return {Layout::by_tiles, "inner products of long vectors are shared by a tile"};
    if (f.longest_product >= table::product_by_tiles)
      return {Layout::by_tiles, "a long inner product is shared by a tile"};
    if (p.row > table::row_too_long) return {Layout::by_tiles, "a row exceeds the registers of a thread"};
    return {Layout::by_rows, "a row still fits the registers of a thread"};
  }

  static bool is_too_long(const LayoutFeatures& f) {
    return 32 * padded(f.column_entries, 8) * 8 > table::shared_bytes;
  }

  // Returns whether the threads that hold the inner products of the pairs also evaluate the pairs. These threads
  // evaluate the pairs if a pair takes few instructions and reads few values of its row and column, and if each column
  // starts at a multiple of 16 bytes.
  static bool in_place(const LayoutFeatures& f, const Settings& s, int most_work = table::little_work) {
    const int bytes = s.single ? 4 : 8;
    return f.numbers == 0 && padded(f.column_entries, bytes) * bytes % 16 == 0 && f.work <= most_work &&
           f.kept_row <= table::kept_of_row && f.kept_column <= table::kept_of_column;
  }
  bool adds_vectors() const { return p.sums || p.exponentiates; }
  bool sums_columns(const LayoutFeatures& f) const {
    return adds_by_tiles(s) && adds_vectors() && f.adds_columns && f.contractions == 0 && in_place(f, s);
  }

  // Returns the number of rows of a thread. With many rows, more pairs share the loads of a column. With few rows, more
  // registers are free for long values, and more blocks fill the device.
  int rows_of_thread(const LayoutFeatures& f) const {
    if ((p.exponentiates && f.expands) || f.work > table::much_work) return 1;
    const int four = f.squared ? table::four_rows_squared : table::four_rows,
              two = s.single ? table::two_rows_float : table::two_rows_double;
    int rows = s.single && f.registers <= four ? 4 : f.registers <= two ? 2 : 1;
    if (f.factor && p.size > 1) rows = std::min(rows, 2);
    const bool sums_some = adds_by_tiles(s) && p.sums && p.size >= table::three_rows_sum;
    if (rows == 2 && sums_some && f.registers <= table::three_rows) rows = 3;
    while (rows > 2 && extent.rows < Count(rows) * table::rows_of_a_processor * gpu.multiprocessors)
      rows = (rows + 1) / 2;
    return rows;
  }

  Recipe narrow(const LayoutFeatures& f) const {
    const int rows = rows_of_thread(f);
    const bool few = extent.rows <= table::few_rows, much = f.work > table::much_work;
    const bool large =
        s.single && rows != 3 && extent.rows >= Count(table::many_rows_of_a_processor) * gpu.multiprocessors;
    int threads = few ? int(table::few_rows) / rows : large ? 256 : 128;
    const int column_bytes = padded(f.column_entries, 8) * 8;
    // each thread loads one column of a tile
    while (threads > 32 && threads * column_bytes > table::shared_bytes) threads /= 2;
    Recipe made{Layout::by_rows, Mainloop::narrow, consumer(), "", rows, threads, threads};
    made.unrolled = much                       ? 1
                    : !s.single || f.bare_root ? table::unrolled_slow
                    : rows == 3                ? table::unrolled_three
                                               : table::unrolled;
    if (few && f.column_sources <= PairJob::most_sources) made.operands = Operands::made_columns;
    if (loads_rows_once(f)) made.operands = Operands::made_rows;
    return made;
  }
  // Returns whether each thread computes its rows in registers, instead of loading rows that another kernel has
  // computed. With few columns, only one block needs a row, and computes the row only once.
  bool loads_rows_once(const LayoutFeatures& f) const {
    return !extent.ranges && extent.columns <= table::few_columns && extent.rows >= table::rows_of_few_columns &&
           f.row_sources <= PairJob::most_sources && f.row_entries <= table::made_row;
  }
  Consumer consumer() const { return p.stores ? Consumer::store : p.k > 0 ? Consumer::top_k : Consumer::states; }

  // The recipe for tiles. A block has 128 rows. The number of columns is limited by the registers that hold the inner
  // products of the pairs. If long vectors are summed, their totals take registers, and a block has 64 rows.
  Recipe wide(const LayoutFeatures& f) const {
    const bool sums = f.vector_sum > 0, here = in_place(f, s);
    Recipe recipe{
        Layout::by_tiles, Mainloop::wide, sums ? Consumer::vector_sum : consumer(), "", sums && here ? 2 : 4, 128, 32};
    if (s.single && !sums && f.inner_product <= table::short_contraction) recipe.columns = 64;
    if (!s.single && sums && !here) recipe.columns = 16;
    for (int n = 1; n < std::max(f.contractions, f.numbers); n *= 2) recipe.columns /= 2;
    recipe.columns = std::max(recipe.columns, 8);
    if (sums_columns(f))
      recipe.rows_per_thread = 4, recipe.columns = 64;
    else if (takes_warpgroups(f))
      use_warpgroups(f, recipe);
    multiply(f, recipe);
    return recipe;
  }

  // Sets the tile for warp groups (four warps that multiply matrices together). The registers of a thread can hold the
  // totals of vectors of up to 256 entries; for such vectors, the two warp groups of a block process different rows.
  // For longer summed vectors, the two warp groups process the same rows, and each warp group adds half of the entries.
  // Without a vector sum, a tile has 64 columns, or 128 columns if the rows are reloaded for each tile.
  static void use_warpgroups(const LayoutFeatures& f, Recipe& recipe) {
    const bool sums = f.vector_sum > 0;
    recipe.rows_per_thread = 2, recipe.threads = 256;
    recipe.columns = sums ? 32 : f.inner_product > table::resident_rows ? 128 : 64;
    recipe.warpgroups = sums && f.inner_product > table::totals_in_registers ? 2 : 1;
  }
  bool takes_warpgroups(const LayoutFeatures& f) const {
    const int contracted = f.inner_product;
    const bool sums = p.sums && contracted <= table::warpgroups_summed && (f.adds_difference || f.adds_product),
               weighs = p.exponentiates && p.weights <= 1,
               numbers = f.vector_sum == 0 && p.size == 1 && (p.sums || weighs);
    return gpu.warpgroups() && adds_by_tiles(s) && in_place(f, s) && contracted >= table::warpgroups &&
           f.contractions == 1 && (sums || numbers) && leaves_room(f) &&
           (extent.rows > table::few_rows || contracted <= table::resident_rows);
  }
  // True if shared memory has room for the vectors of a block, in addition to those values of the columns that the
  // pairs read.
  static bool leaves_room(const LayoutFeatures& f) {
    if (f.vector_sum > 0) return f.kept_column <= table::summed_kept || f.inner_product <= table::summed_beside_kept;
    return f.kept_column <= table::kept || f.inner_product <= table::beside_kept ||
           f.inner_product > table::resident_rows;
  }

  // Sets the atoms of the recipe (the hardware that multiplies vectors) and, if vectors are summed, the loops over
  // batches of entries.
  void multiply(const LayoutFeatures& f, Recipe& recipe) const {
    const bool cores = s.single ? gpu.float_cores() : gpu.double_cores();
    const Atom plain = !cores ? Atom::terms : s.single ? Atom::tf32 : Atom::doubles;
    recipe.product = plain;
    recipe.scaled = plain != Atom::tf32 ? plain : recipe.warpgroups ? Atom::warpgroups : Atom::halves;
    recipe.atom = f.inner_product > 0 ? recipe.scaled : f.longest_product > 0 ? plain : Atom::terms;
    if (f.vector_sum == 0) return;
    recipe.batching = Batching::entries;
    const bool matrices = cores && in_place(f, s) && adds_vectors() && !adds_carefully(s);
    if (!matrices) return;
    if (f.adds_columns || f.adds_difference) recipe.summed = plain;
    if (sums_columns(f)) recipe.batching = Batching::columns;
    const bool whole = recipe.warpgroups || f.inner_product <= table::totals_in_registers;
    if (!s.single || f.contractions != 1 || !(f.adds_difference || (f.adds_product && whole))) return;
    recipe.batching = whole ? Batching::whole : Batching::tiles, recipe.summed = recipe.scaled;
  }

  // Changes the recipe for a reduction that is restricted to given ranges: each cluster of rows is combined with some
  // columns. A block then has at most about `extent.cluster` rows.
  Recipe fitted(Recipe recipe) const {
    recipe.ranges = true;
    if (recipe.mainloop != Mainloop::narrow) return recipe;
    while (recipe.rows_per_thread > 1 && recipe.rows_per_thread * recipe.threads > extent.cluster)
      recipe.rows_per_thread /= 2;
    while (recipe.threads > 32 && recipe.threads > 2 * extent.cluster) recipe.threads /= 2;
    recipe.columns = recipe.threads;
    return recipe;
  }

  bool in_bulk() const { return !p.stores && !extent.ranges; }

  // Returns whether to search for nearest columns by lists of candidates. The additional work for each row and for each
  // tile of columns must be small compared with the work for the pairs.
  bool takes_lists() const {
    const Count processors = gpu.multiprocessors;
    const table::Lists& least = p.nearest >= table::long_listed ? table::lists_of_long : table::lists;
    return in_bulk() && p.nearest > 0 && extent.rows >= table::list_rows &&
           extent.columns >= least.columns * processors && std::max(extent.rows, extent.columns) < table::most_listed &&
           double(extent.rows) * double(extent.columns) * double(p.nearest) >=
               double(processors * processors << least.bits);
  }
  Recipe lists(int parts) const {
    Recipe made{
        Layout::in_bulk, Mainloop::lists, Consumer::top_k, "tensor cores bound the distances of many pairs", 1, 128,
        nearest_tile};
    made.atom = Atom::halves, made.parts = parts;
    return made;
  }

  // Returns whether to use panels, which are products of large matrices by cuBLAS. `f` has the features of the layout
  // for tiles. Tiles are much slower if the sum needs several numbers of a pair.
  bool takes_panels(const LayoutFeatures& f) const {
    const int most_work = p.several ? 2 * table::little_work : table::little_work;
    if (!in_bulk() || p.nearest > 0 || p.contracted == 0 || s.scheme == SumScheme::kahan) return false;
    if (!in_place(p.in_bulk, doubles(), most_work) || std::min(extent.rows, extent.columns) < table::panel_rows)
      return false;
    if (s.single && (!gpu.fast_doubles || p.contracted > table::longest_digits)) return false;
    const bool tiles_are_faster =
        takes_warpgroups(f) && (f.vector_sum > 0 || f.inner_product <= table::values_by_warpgroups);
    return panels_are_faster(s.single ? table::digits : table::doubles) && !tiles_are_faster;
  }
  // Returns whether panels are faster than tiles. Tiles repeat the contractions of the vectors for each batch of
  // entries, and are slow if there are several batches. If the panels have several products or several terms
  // (PanelPlan::several()), tiles contract term by term, without tensor cores.
  bool panels_are_faster(const table::Panels& than) const {
    if (p.several) return p.contracted >= than.several;
    if (p.exponentiates)
      return p.contracted > table::weighed_contracted ||
             (p.panel_sum >= than.weighed_columns && p.contracted + p.panel_sum > than.weighed);
    if (p.differences)
      return p.contracted > (s.single && !adds_by_tiles(s) ? than.differences_careful : than.differences);
    if (p.panel_sum == 0) return p.contracted > than.values;
    return p.panel_sum >= table::panel_columns &&
           p.contracted > (p.panel_sum >= table::panel_wide ? than.summed_wide : than.summed_columns);
  }
  Settings doubles() const {
    Settings all = s;
    all.single = false;
    return all;
  }
  Recipe panels() const {
    const bool digits = s.single;
    const int columns = digits ? 2048 : 1024;
    Recipe made{Layout::in_bulk,
                Mainloop::panels,
                p.panel_sum > 0 ? Consumer::vector_sum : Consumer::states,
                "products of whole panels are faster for vectors of this length",
                digits      ? 1
                : p.several ? 2
                            : 4,
                columns / 4,
                columns};
    made.atom = digits ? Atom::digits : Atom::doubles;
    made.in_place = in_place(p.in_bulk, doubles()), made.much_work = p.in_bulk.work > table::much_work;
    return made;
  }

  const PairFeatures& p;
  const Settings& s;
  const Gpu& gpu;
  const Extent& extent;
};

}  // namespace

Recipe choose(const PairFeatures& features, const Settings& settings, const Gpu& gpu, const Extent& extent,
              int attempt) {
  return Chooser(features, settings, gpu, extent).choose(attempt);
}

std::vector<Recipe> recipes(const PairFeatures& features, const Settings& settings, const Gpu& gpu, bool few) {
  std::vector<Recipe> all;
  for (Count rows = 1 << 24; rows > (few ? 0 : table::few_rows); rows /= 2) {
    const Recipe made = choose(features, settings, gpu, {rows, rows}, last_attempt);
    if (all.empty() || all.back().fields() != made.fields()) all.push_back(made);
  }
  return all;
}

Settings numbers_of(const Recipe& recipe, Settings settings) {
  if (recipe.in_bulk()) settings.single = false;
  return settings;
}
bool adds_carefully(const Settings& settings) {
  return settings.scheme == SumScheme::kahan || (settings.single && settings.accumulate_double);
}
bool adds_by_tiles(const Settings& settings) { return settings.single && !adds_carefully(settings); }

}  // namespace cuda
}  // namespace kernops
