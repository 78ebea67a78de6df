// The form of a Plan that a GPU executes. Tiles of threads contract and sum long vectors, and exponents that contain a
// distance are expanded. A slot is a value of the plan, and 0 stands for no slot.
#pragma once
#include <algorithm>
#include <map>

#include "formula/plan.h"

namespace kernops {

namespace cuda {
struct KernelCache;  // cuda/pairs/device_worker.cpp
}

// A vector that is computed entry by entry, or the sum of its entries. `steps` are the operations that compute one
// entry, as if all vectors had size 1. If there are no steps, the vector is the only element of `leaves`.
struct Entries {
  int slot, size;
  std::vector<int> leaves;  // slots of vectors of the row, of the column, or of the uniform level
  std::vector<Step> steps;
  std::vector<int> numbers;  // slots of numbers of the pair that every entry reads, in addition to vectors
};

// The slots of an expansion. The exponent is c |x - y|^2, with the `factor` c and |x - y|^2 in the slot `distance`. The
// exponent is computed as c |x|^2 + c |y|^2 + (x' | y'), with two norms and an inner product, where x' = -2 c x and y'
// = y. If the inner product is contracted by tiles, put_scaled() of cuda/values.cuh scales x' and y', after subtracting
// a centre, if there is one. If there is no expansion, all slots are 0.
//
// If `root` is not 0, the slot `root` contains |x - y|, and the exponent is c |x - y| = -|x' - y'|, with x' = -c x and
// y' = -c y. In this case, the norms are |x'| and |y'|, and are infinite or NaN unless c < 0. If other products contain
// |x - y| or |x - y|^2, `factors` has a new factor for each of these products, because x' and y' replace x and y.
//
// If coordinates have `weights`, the vectors are multiplied by the weights, and the norms are infinite or NaN if a
// weight is negative.
//
// If `rooted` is true, no exponent is expanded. In this case, `exponent` is the slot of a distance with weights, and
// the plan also sums r (x - y), where r are the square roots of the weights. If the norms are small, x and y are
// multiplied by r, which saves two multiplications per entry of a pair. The norms are squared lengths, divided by a
// limit for which rounding errors are still small.
//
// If `product` is true, `exponent` and `distance` both have the slot of the inner product (x | y). The inner product is
// computed from x times a power of two for each row, and from y times a power of two for each column. The norms
// describe the range of the entries (put_product()).
struct Expansion {
  int exponent, distance, root, factor, row, column, weights;
  int row_norm, column_norm, row_vector, column_vector, centre;
  std::map<int, int> factors;
  bool product = false, rooted = false;
  int row_power = 0, column_power = 0;
};

// A search for the k nearest columns of each row (cuda/wide/nearest.cuh); k is 0 if the plan is not such a search.
// `listed` is the number of columns in a list, a multiple of 32. `row` and `column` are the slots of the vectors. The
// search compares squared distances or, if `product` is 1 or -1, inner products times `product`.
struct Nearest {
  int row, column, k, listed;
  bool root;  // true if the result is the root of the squared distance
  int product;
  bool negated;  // true if the result has the opposite sign
};

// The products and sums of panels. Contraction n of a pair is the product of a vector of the row and a vector of the
// column, which have `size` entries (`products`). Term n has the slot of number n of a pair (`terms`). This number
// multiplies a vector of the column with `width` entries, and the total of this number is multiplied by `factor` and by
// a vector of the row. A slot of 0 means that a vector or a factor does not exist. The sums of the columns' vectors are
// multiplied by the value in slot `scale`, if this slot is not 0. A plan that is not suitable for panels has no terms.
// While the plan is built, a `difference` of 1 stands for x - y, and a `difference` of -1 stands for y - x, where x and
// y are the vectors of an expanded exponent.
struct PanelPlan {
  struct Product {
    int row, column, size;
  };
  struct Term {
    int number, column, row, difference, factor = 0;
  };
  std::vector<Product> products;
  std::vector<Term> terms;
  int width = 0;  // 0 if the results are totals of numbers
  int scale = 0;
  bool several() const { return products.size() > 1 || terms.size() > 1; }
  bool adds(int column) const {
    return std::any_of(terms.begin(), terms.end(), [=](const Term& term) { return term.column == column; });
  }
  int adding() const {  // number of terms that multiply vectors of the columns
    return int(std::count_if(terms.begin(), terms.end(), [](const Term& term) { return term.column != 0; }));
  }
};

// A Plan in which contractions have been removed from the steps of pairs. The remaining steps and the summand f read
// only the first `kept` entries of each level (row, column, uniform).
//
// If `vector_sum` has a size > 0, the summand is f times this vector. In this case, f also contains the numbers of the
// pair that the entries of the vector read. `factor` is the slot of a number by which the sum of a row is multiplied,
// or 0; `entry_factors` is the slot of a vector by which the sum is multiplied entry by entry, or 0.
//
// If an exponent is expanded, the norm of the row vector is the first entry of the row level, and the norm of the
// column vector is the first entry of the column level. The code of pairs then has a second version, which uses the
// expansion. If `weighted` is true, column_norm is not added to each exponent, and is not the first entry of the column
// level. Instead, 2^column_norm is the weight of a column, or a factor of this weight. If summed vectors are multiplied
// by the weights of an expansion, the square roots of the weights (`roots`) replace the weights, or are included in the
// vectors. The sums are then multiplied by the roots, with the signs of the weights.
struct TiledPlan : Plan {
  mutable std::shared_ptr<cuda::KernelCache> cached_kernels;  // used by one thread at a time
  int factor = 0, roots = 0, entry_factors = 0;
  Expansion expansion{};
  Entries inner_product{};  // the inner product that replaces the contraction of the distance
  std::vector<Entries> contractions;
  Entries vector_sum{};
  Nearest nearest{};
  PanelPlan panels{};
  std::array<int, 3> kept{};
  bool weighted = false;
  int column_weight() const { return slots[f].level == Level::column ? f : slots[w].level == Level::column ? w : 0; }
  bool tiled() const { return !contractions.empty() || vector_sum.size > 0; }
  // True for an inner product of a vector of the row and a vector of the column.
  bool is_product(const Entries& made) const;
  int row_in_vector_sum() const;
  bool adds_columns() const;             // true if the summed vector belongs to the column
  bool sums_columns_of_product() const;  // true if the only contraction is an inner product with the summed vector
};
// The optimisations that tile() may apply. long_vectors: contractions and sums of long vectors. products: inner
// products of floats as 16-bit numbers on tensor cores. bulk: reductions of all pairs by panels or lists. roots: square
// roots of weights, for short vectors.
struct Wanted {
  bool long_vectors = false, products = false, bulk = false, roots = false;
};
TiledPlan tile(const Plan& plan, const Wanted& wanted);

inline bool reads(const Step& step, int slot) {
  return std::find(std::begin(step.in), std::end(step.in), slot) != std::end(step.in);
}

// find_expansion() finds the expansion of an exponent, without applying it. If `long_vectors` is true, only exponents
// of long vectors are expanded. If `long_vectors` is false, a thread keeps its rows in registers, and exponents of
// vectors of any length are expanded.
int long_enough(const Plan& plan);  // minimum number of entries of a contraction; smaller for sums
Expansion find_expansion(const Plan& plan, bool long_vectors);
Expansion find_product(const Plan& plan);

}  // namespace kernops
