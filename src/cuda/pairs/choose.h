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

// Layouts of a plan: rows in registers; vectors contracted and summed by tiles; products of whole matrices or lists.
enum class Layout { by_rows, by_tiles, in_bulk };
enum class Mainloop { narrow, wide, panels, lists };
// Units that multiply long vectors: a sum of terms, tensor cores of warps (doubles, TF32, pairs of halves) or of warp
// groups, and for panels cuBLAS with doubles or with digits of 8 bits.
enum class Atom { terms, doubles, tf32, halves, warpgroups, digits };
enum class Consumer { states, vector_sum, store, top_k };
enum class Operands { filled_columns, made_columns };  // a level in memory, or made by the one block that reads it
// Loops of a vector sum: none; over batches of entries with the numbers of pairs made anew, also where the vectors are
// columns and numbers need no contraction; all totals in registers; the numbers of some tiles kept for all batches.
enum class Batching { none, entries, columns, whole, tiles };

// The parameters that are compiled into a kernel, and the reason for them.
struct Recipe {
  Layout layout;
  Mainloop mainloop;
  Consumer consumer;
  const char* reason;
  int rows_per_thread, threads, columns;  // of a block at a time; unless it is narrow, 4 threads share their rows
  Atom atom = Atom::terms;  // of the main contraction; of inner products, of those of expanded exponents, of sums:
  Atom product = Atom::terms, scaled = Atom::terms, summed = Atom::terms;
  Batching batching = Batching::none;
  Operands operands = Operands::filled_columns;
  int unrolled = 1;        // narrow: columns that a thread meets without a jump
  int parts = 0;           // lists: halves that make a number
  int warpgroups = 0;      // that have the same rows; 0 where warps multiply alone
  bool ranges = false;     // not all pairs
  bool in_place = false;   // the threads that have the products evaluate the pairs; else one row a thread
  bool much_work = false;  // one column at a time
  bool in_bulk() const { return layout == Layout::in_bulk; }
  bool sums_vectors() const { return mainloop == Mainloop::wide && consumer == Consumer::vector_sum; }
  Count rows() const {  // of a block, at a time
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
  int contractions, inner_product, longest_product;  // of the expanded one and of all: entries, 0 for none
  int vector_sum, numbers;                           // entries; numbers of a pair that these read
  bool adds_columns, adds_difference, adds_product;  // the vectors of a sum
  bool expands, squared, bare_root, factor;
};
struct PairFeatures {
  LayoutFeatures by_rows, by_tiles, in_bulk;
  int row, size, weights, k;  // registers of a row by rows; entries of f and w; columns that are wanted
  bool sums, exponentiates, stores;
  int contracted, panel_sum;  // by panels: entries, 0 where there is no contraction, or no vector
  bool several, differences;  // numbers of a pair; vectors of both, as in a gradient
  int nearest;                // entries of vectors whose nearest are wanted
};
struct Layouts {
  std::array<TiledPlan, 3> plans;
  PairFeatures features;
  const TiledPlan& of(const Recipe& recipe) const { return plans[size_t(recipe.layout)]; }
};
Layouts lay_out(const Plan& plan, const Settings& settings);

// The properties of a GPU that the choice depends on.
struct Gpu {
  int capability, multiprocessors;  // 90 for sm_90
  bool fast_doubles;
  Gpu(const std::string& architecture, int multiprocessors, bool fast_doubles)
      : capability(std::stoi(architecture.substr(3))), multiprocessors(multiprocessors), fast_doubles(fast_doubles) {}
  bool warpgroups() const { return capability == 90; }
  bool float_cores() const { return capability >= 80; }
  bool double_cores() const { return capability == 80 || capability == 90; }  // others have few, if any
};

// The numbers of rows and columns; with ranges, the rows that a pair shares its cluster with, on average.
struct Extent {
  Count rows, columns;
  bool ranges = false;
  double cluster = 0;
};

// `attempt` counts the recipes that have failed, for want of memory or because numbers are too far apart.
constexpr int last_attempt = 2;
Recipe choose(const PairFeatures& features, const Settings& settings, const Gpu& gpu, const Extent& extent,
              int attempt = 0);

Settings numbers_of(const Recipe& recipe, Settings settings);  // in bulk, doubles, whatever is asked for
bool adds_by_tiles(const Settings& settings);                  // floats, so that tensor cores can
bool adds_carefully(const Settings& settings);                 // in more than the numbers have
bool fits(const Plan& plan, const Settings& settings);
// The recipes that are not in bulk, from many rows to few; those for at most `few_rows` if asked for. Each serves at
// least twice the rows that it begins with.
std::vector<Recipe> recipes(const PairFeatures& features, const Settings& settings, const Gpu& gpu, bool few);

}  // namespace cuda
}  // namespace kernops
