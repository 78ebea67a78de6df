// The choice of the kernel that reduces all pairs of a plan: lay_out() -> PairFeatures -> choose() -> Recipe ->
// source(). README.md has the loop nests that the enumerators name, crossovers.h the measured numbers.
#pragma once
#include <algorithm>
#include <array>
#include <tuple>

#include "cuda/pairs/tiled_plan.h"
#include "run/data.h"

namespace kernops {
namespace cuda {

// Layouts of a plan: rows in registers; long vectors contracted and summed by tiles; or all pairs "in bulk", by
// products of whole matrices (panels) or lists of nearest columns.
enum class Layout { by_rows, by_tiles, in_bulk };
enum class Mainloop { narrow, wide, panels, lists };
// Units that multiply long vectors: term by term; tensor cores of warps (doubles, TF32, pairs of 16-bit numbers) or of
// warp groups; for panels, cuBLAS with doubles or with digits of 8 bits.
enum class Atom { terms, doubles, tf32, halves, warpgroups, digits };
enum class Consumer { states, vector_sum, store, top_k };
enum class Operands { filled_columns, made_columns };  // columns of a tile: read from a level, or computed by the block
// Loops of a vector sum: none; over batches of entries, with the numbers of the pairs computed again for each batch;
// the same for vectors of columns, with numbers that need no contraction; all totals in registers; the numbers of some
// tiles kept for all batches.
enum class Batching { none, entries, columns, whole, tiles };

// The parameters of the choice, which are compiled into a kernel.
struct Recipe {
  Layout layout;
  Mainloop mainloop;
  Consumer consumer;
  const char* reason;
  int rows_per_thread, threads, columns;  // processed `rows` at a time; unless narrow, 4 threads share rows
  Atom atom = Atom::terms;  // units of the main contraction, of inner products, of expanded exponents, and of sums
  Atom product = Atom::terms, scaled = Atom::terms, summed = Atom::terms;
  Batching batching = Batching::none;
  Operands operands = Operands::filled_columns;
  int unrolled = 1;        // narrow loop: number of columns that a thread processes without a jump
  int parts = 0;           // lists of nearest columns: number of 16-bit numbers that represent a float
  int warpgroups = 0;      // warp groups with the same rows; 0 if warps multiply separately
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

// Features of a layout: numbers of entries, estimates of registers and of instructions.
struct LayoutFeatures {
  int registers, work, column_entries, kept_row, kept_column, column_sources;
  // entries of the expanded contraction and of all contractions, 0 if there is none
  int contractions, inner_product, longest_product;
  int vector_sum, numbers;                           // entries of vector sums; numbers of a pair that the sums read
  bool adds_columns, adds_difference, adds_product;  // kind of the vectors of a sum
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

// The properties of a GPU that the choice depends on.
struct Gpu {
  int capability, multiprocessors;  // compute capability, 90 for sm_90
  bool fast_doubles;
  Gpu(const std::string& architecture, int multiprocessors, bool fast_doubles)
      : capability(std::stoi(architecture.substr(3))), multiprocessors(multiprocessors), fast_doubles(fast_doubles) {}
  bool warpgroups() const { return capability == 90; }
  bool float_cores() const { return capability >= 80; }
  // other GPUs have few double precision units
  bool double_cores() const { return capability == 80 || capability == 90; }
};

// The numbers of rows and columns; with ranges, the average number of rows in the cluster of a pair.
struct Extent {
  Count rows, columns;
  bool ranges = false;
  double cluster = 0;
};

// `attempt` counts the recipes that failed because memory was short or because values had too large a range.
constexpr int last_attempt = 2;
Recipe choose(const PairFeatures& features, const Settings& settings, const Gpu& gpu, const Extent& extent,
              int attempt = 0);

Settings numbers_of(const Recipe& recipe, Settings settings);  // precision of a recipe: in bulk always doubles
bool adds_by_tiles(const Settings& settings);                  // true if tensor cores may add up floats
bool adds_carefully(const Settings& settings);                 // true if sums have more bits than the numbers
bool fits(const Plan& plan, const Settings& settings);
// The recipes that reduce pairs by rows or tiles, from recipes for many rows to recipes for few rows; with `few`, only
// recipes for at most `few_rows` rows. Each recipe serves at least twice as many rows as its minimum.
std::vector<Recipe> recipes(const PairFeatures& features, const Settings& settings, const Gpu& gpu, bool few);

}  // namespace cuda
}  // namespace kernops
