// The choice of the kernel that reduces all pairs of a plan: lay_out() -> PairFeatures -> choose() -> Recipe ->
// source(). The enumerators below name loop nests, which README.md shows. crossovers.h has the measured limits.
#pragma once
#include <algorithm>
#include <array>
#include <tuple>

#include "cuda/pairs/tiled_plan.h"
#include "run/data.h"

namespace kernops {
namespace cuda {

// The layouts of a plan. by_rows: a thread keeps its rows in registers. by_tiles: a block contracts (multiplies and
// sums) long vectors for a tile of rows and columns. in_bulk: all pairs are reduced by products of whole matrices
// (panels), or by lists of nearest columns.
enum class Layout { by_rows, by_tiles, in_bulk };
enum class Mainloop { narrow, wide, panels, lists };
// The hardware that multiplies long vectors. terms: ordinary arithmetic. doubles, tf32, halves (pairs of 16-bit
// numbers): tensor cores, used by warps. warpgroups: tensor cores, used by groups of four warps. Panels use cuBLAS,
// with `doubles` in float64, and in float32 with `digits`: each number is split into 8-bit integers.
enum class Atom { terms, doubles, tf32, halves, warpgroups, digits };
enum class Consumer { states, vector_sum, store, top_k };
// The origin of the rows and columns that the narrow main loop reads. filled: another kernel has computed rows and
// columns. made_columns: each block computes the columns of its tiles. made_rows: each thread computes its rows.
enum class Operands { filled, made_columns, made_rows };
// The loops of a vector sum. For each row, this is the sum over the columns of a number of the pair times a long
// vector. none: there is no vector sum. entries: a loop over batches of entries, which computes the numbers of the
// pairs again for each batch. columns: the same loop for sums of vectors of columns, with numbers that need no
// contraction. whole: a single batch, with all totals in registers. tiles: the numbers of some tiles are kept in memory
// for all batches.
enum class Batching { none, entries, columns, whole, tiles };

// The choice of a kernel; the parameters are compiled into its text.
struct Recipe {
  Layout layout;
  Mainloop mainloop;
  Consumer consumer;
  const char* reason;
  // the wide main loop gives the same rows to 4 threads; rows() returns the number of rows of a block
  int rows_per_thread, threads, columns;
  // the atoms of the main contraction, of inner products, of expanded exponents (`scaled`), and of vector sums
  // (`summed`)
  Atom atom = Atom::terms;
  Atom product = Atom::terms, scaled = Atom::terms, summed = Atom::terms;
  Batching batching = Batching::none;
  Operands operands = Operands::filled;
  int unrolled = 1;     // narrow loop: number of columns that a thread processes without a jump
  int parts = 0;        // lists of nearest columns: number of 16-bit numbers that represent a float
  int warpgroups = 0;   // number of warp groups that share the same rows; 0 if warps multiply separately
  bool ranges = false;  // true if the kernel reduces only the pairs of given ranges
  // if true, the threads that hold the contractions of pairs evaluate these pairs; if false, each thread evaluates the
  // pairs of one row
  bool in_place = false;
  bool much_work = false;  // true if a pair takes many instructions; a thread then processes one column at a time
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

// Features of a layout: numbers of entries of vectors, and estimated numbers of registers and instructions.
struct LayoutFeatures {
  int registers, work, row_entries, column_entries, kept_row, kept_column, row_sources, column_sources;
  // The number of contractions, the entries of the contraction that is an expanded exponent, and the entries of the
  // longest contracted inner product; 0 if there is none.
  int contractions, inner_product, longest_product;
  int vector_sum, numbers;                           // entries of vector sums; numbers of a pair that the sums read
  bool adds_columns, adds_difference, adds_product;  // kind of the vectors in a sum
  bool expands, squared, bare_root, factor;
};
struct PairFeatures {
  LayoutFeatures by_rows, by_tiles, in_bulk;
  // Features of the layout by_rows: the number of registers of a row; the numbers of entries of the reduced value f and
  // of its weights w; and k of a top-k reduction.
  int row, size, weights, k;
  bool sums, exponentiates, stores;
  // The number of entries of the vectors that panels contract, and of the vectors that panels sum; 0 if there are no
  // such vectors.
  int contracted, panel_sum;
  bool several, differences;  // true if a sum needs several numbers of a pair; true if a sum adds x - y (gradient)
  int nearest;                // number of entries of vectors in searches for the nearest columns
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
  // GPUs other than sm_80 and sm_90 have too few float64 units.
  bool double_cores() const { return capability == 80 || capability == 90; }
};

// The numbers of rows and columns. If the reduction is restricted to ranges (clusters of rows and columns), `cluster`
// is the average over the pairs of the number of rows in the pair's cluster.
struct Extent {
  Count rows, columns;
  bool ranges = false;
  double cluster = 0;
};

// Returns the recipe for a reduction. `attempt` is the number of recipes that have already failed, because memory was
// short or because values had too large a range.
constexpr int last_attempt = 2;
Recipe choose(const PairFeatures& features, const Settings& settings, const Gpu& gpu, const Extent& extent,
              int attempt = 0);

// Returns the settings for a recipe; reductions in bulk store rows and columns in float64 even if the user requests
// float32.
Settings numbers_of(const Recipe& recipe, Settings settings);
bool adds_by_tiles(const Settings& settings);   // true if tensor cores may add up floats
bool adds_carefully(const Settings& settings);  // true for Kahan sums, and for sums of floats in doubles
bool fits(const Plan& plan, const Settings& settings);
// Returns all recipes of the layouts by_rows and by_tiles that choose() may return for this plan, ordered from many
// rows to few rows. The result includes recipes for at most `few_rows` rows only if `few` is true.
std::vector<Recipe> recipes(const PairFeatures& features, const Settings& settings, const Gpu& gpu, bool few);

}  // namespace cuda
}  // namespace kernops
