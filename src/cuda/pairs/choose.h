// The choice of the kernel that reduces all pairs of a plan: lay_out() -> PairFeatures -> choose() -> Recipe ->
// source(). README.md shows the loop nests that the enumerators name, and crossovers.h has the measured limits.
#pragma once
#include <algorithm>
#include <array>
#include <tuple>

#include "cuda/pairs/tiled_plan.h"
#include "run/data.h"

namespace kernops {
namespace cuda {

// The layouts of a plan: the rows are kept in registers; or long vectors are contracted and summed by tiles; or all
// pairs are reduced "in bulk", by products of whole matrices (panels) or by lists of nearest columns.
enum class Layout { by_rows, by_tiles, in_bulk };
enum class Mainloop { narrow, wide, panels, lists };
// The hardware that multiplies long vectors: ordinary arithmetic, term by term; tensor cores, used by warps (doubles,
// TF32, pairs of 16-bit numbers) or by warp groups; for panels, cuBLAS with doubles or with digits of 8 bits.
enum class Atom { terms, doubles, tf32, halves, warpgroups, digits };
enum class Consumer { states, vector_sum, store, top_k };
enum class Operands { filled_columns, made_columns };  // columns of a tile: read from a level, or computed by blocks
// The loops of a vector sum. none: there is no vector sum. entries: over batches of entries, where the numbers of the
// pairs are computed again for each batch. columns: the same for sums of vectors of columns, where the numbers need no
// contraction. whole: a single batch, with all totals in registers. tiles: the numbers of some tiles are kept for all
// batches.
enum class Batching { none, entries, columns, whole, tiles };

// The choice of a kernel; the parameters are compiled into its text.
struct Recipe {
  Layout layout;
  Mainloop mainloop;
  Consumer consumer;
  const char* reason;
  // see rows() for the rows of a block; with the wide main loop, 4 threads share their rows
  int rows_per_thread, threads, columns;
  // the atoms of the main contraction, of inner products, of expanded exponents, and of vector sums
  Atom atom = Atom::terms;
  Atom product = Atom::terms, scaled = Atom::terms, summed = Atom::terms;
  Batching batching = Batching::none;
  Operands operands = Operands::filled_columns;
  int unrolled = 1;        // narrow loop: number of columns that a thread processes without a jump
  int parts = 0;           // lists of nearest columns: number of 16-bit numbers that represent a float
  int warpgroups = 0;      // number of warp groups that share the same rows; 0 if warps multiply separately
  bool ranges = false;     // the kernel reduces only the pairs of given ranges
  bool in_place = false;   // the threads that hold the products evaluate the pairs; otherwise one row per thread
  bool much_work = false;  // a pair takes many instructions: a thread processes one column at a time
  bool in_bulk() const { return layout == Layout::in_bulk; }
  bool sums_vectors() const { return mainloop == Mainloop::wide && consumer == Consumer::vector_sum; }
  Count rows() const {  // number of rows that a block processes at a time
    if (mainloop == Mainloop::lists) return columns;
    if (mainloop == Mainloop::panels) return rows_per_thread;
    return Count(mainloop == Mainloop::narrow ? threads : threads / 4) * rows_per_thread / std::max(warpgroups, 1);
  }
  auto fields() const {
    return std::make_tuple(layout, mainloop, consumer, rows_per_thread, threads, columns, atom, product, scaled, summed,
                           batching, operands, unrolled, parts, warpgroups, ranges);
  }
};

// Features of a layout: numbers of entries, and estimated numbers of registers and instructions.
struct LayoutFeatures {
  int registers, work, column_entries, kept_row, kept_column, column_sources;
  // entries of the contraction that is an expanded exponent, and of the longest inner product; 0 if there is none
  int contractions, inner_product, longest_product;
  int vector_sum, numbers;                           // entries of vector sums; numbers of a pair that the sums read
  bool adds_columns, adds_difference, adds_product;  // kind of the vectors in a sum
  bool expands, squared, bare_root, factor;
};
struct PairFeatures {
  LayoutFeatures by_rows, by_tiles, in_bulk;
  int row, size, weights, k;  // by rows: registers of a row; entries of f and w; number of extreme columns
  bool sums, exponentiates, stores;
  int contracted, panel_sum;  // by panels: entries of contractions, and of vectors that are summed; 0 for none
  bool several, differences;  // several numbers of a pair; vectors of both row and column, as in a gradient
  int nearest;                // entries of vectors in searches for the nearest columns
};
struct Layouts {
  std::array<TiledPlan, 3> plans;
  PairFeatures features;
  const TiledPlan& of(const Recipe& recipe) const { return plans[size_t(recipe.layout)]; }
};
Layouts lay_out(const Plan& plan, const Settings& settings);

// The properties of a GPU on which the choice depends.
struct Gpu {
  int capability, multiprocessors;  // compute capability, 90 for sm_90
  bool fast_doubles;
  Gpu(const std::string& architecture, int multiprocessors, bool fast_doubles)
      : capability(std::stoi(architecture.substr(3))), multiprocessors(multiprocessors), fast_doubles(fast_doubles) {}
  bool warpgroups() const { return capability == 90; }
  bool float_cores() const { return capability >= 80; }
  // Other GPUs have too few float64 units.
  bool double_cores() const { return capability == 80 || capability == 90; }
};

// The numbers of rows and columns. With ranges, `cluster` is the number of rows in the cluster of a pair, on average.
struct Extent {
  Count rows, columns;
  bool ranges = false;
  double cluster = 0;
};

// The `attempt` of choose() is the number of recipes that have failed, because memory was short or because values had
// too large a range.
constexpr int last_attempt = 2;
Recipe choose(const PairFeatures& features, const Settings& settings, const Gpu& gpu, const Extent& extent,
              int attempt = 0);

Settings numbers_of(const Recipe& recipe, Settings settings);  // in bulk: always float64
bool adds_by_tiles(const Settings& settings);                  // true if tensor cores may add up floats
bool adds_carefully(const Settings& settings);                 // true if sums have more bits than the numbers
bool fits(const Plan& plan, const Settings& settings);
// Returns the recipes that reduce pairs by rows or by tiles for any number of rows, ordered from many rows to few. The
// recipes for at most `few_rows` rows are included only if `few` is true.
std::vector<Recipe> recipes(const PairFeatures& features, const Settings& settings, const Gpu& gpu, bool few);

}  // namespace cuda
}  // namespace kernops
