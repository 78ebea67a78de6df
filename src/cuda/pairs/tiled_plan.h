// A Plan in the form that a GPU executes: long vectors are contracted and summed by tiles, and exponents of distances
// are expanded.
#pragma once
#include <algorithm>
#include <map>

#include "formula/plan.h"

namespace kernops {

namespace cuda {
struct KernelCache;  // cuda/pairs/device_worker.cpp
}

// A vector computed entry by entry, or the sum of its entries: `steps` compute one entry, as if all sizes were 1. If
// there are no steps, the vector is its only leaf.
struct Entries {
  int slot, size;
  std::vector<int> leaves;  // slots of vectors of rows, of columns, or of the uniform level
  std::vector<Step> steps;
  std::vector<int> numbers;  // slots of pair values that all entries read, in addition to vectors
};

// Slots of the norm expansion of an exponent: c |x - y|^2, its factor |x - y|^2, and the norms and inner product of c
// |x|^2 + c |y|^2 + (x' | y'), where x' = -2 c x and y' = y. If the inner product is contracted, put_scaled() of
// cuda/values.cuh scales x' and y', relative to a centre if there is one.
//
// If the exponent contains the root of the distance, it is c |x - y| = -|x' - y'| with x' = -c x and y' = -c y; the
// norms are then |x'| and |y'|, and infinite or NaN unless c < 0. Other products may contain the root or the distance:
// `factors` maps the slot of each such product to the factor that applies if x' and y' replace x and y.
//
// If coordinates have weights, the vectors contain the weights, and norms are infinite or NaN unless all weights are >=
// 0. All slots are 0 if there is no expansion.
//
// If `rooted`, nothing is expanded: the vectors are those of a distance with weights, which is also the exponent, and
// of a sum r (x - y), where r are the square roots of the weights. Near vectors are multiplied by r, which saves two
// multiplications per entry of a pair; norms are their squared lengths, as fractions of the largest length that
// rounding allows.
//
// If `product`, exponent and distance are both the contraction (x | y), computed from the two vectors times powers of
// two, one for the row and one for the column; norms describe the range of the entries (put_product()).
struct Expansion {
  int exponent, distance, root, factor, row, column, weights;
  int row_norm, column_norm, row_vector, column_vector, centre;
  std::map<int, int> factors;
  bool product = false, rooted = false;
  int row_power = 0, column_power = 0;
};

// A search for the columns that are nearest to each row: k of them, 0 for none, and the number of listed columns, a
// multiple of 32 (cuda/wide/nearest.cuh). `row` and `column` are the slots of their vectors. The distance is the
// squared distance or, if `product` is 1 or -1, `product` times the inner product.
struct Nearest {
  int row, column, k, listed;
  bool root;  // the result is the root of the squared distance
  int product;
  bool negated;  // the result has the opposite sign
};

// The products and sums of panels. Contraction n of a pair is the product of vectors of its row and its column, with
// `size` entries. Number n of a pair multiplies a vector of the column, of length `width`; the total of number n
// multiplies `factor` and a vector of the row; missing parts are 0. The sums of vectors of columns are multiplied by
// `scale`, if there is one. If panels cannot execute the plan, there are no terms. While the plan is built, a
// `difference` of 1 or -1 represents both vectors of an expanded exponent, or their negatives.
struct PanelPlan {
  struct Product {
    int row, column, size;
  };
  struct Term {
    int number, column, row, difference, factor = 0;
  };
  std::vector<Product> products;
  std::vector<Term> terms;
  int width = 0;  // 0 if a result is the total of a number
  int scale = 0;
  bool several() const { return products.size() > 1 || terms.size() > 1; }
  bool adds(int column) const {
    return std::any_of(terms.begin(), terms.end(), [=](const Term& term) { return term.column == column; });
  }
  int adding() const {  // how many numbers multiply vectors of the columns
    return int(std::count_if(terms.begin(), terms.end(), [](const Term& term) { return term.column != 0; }));
  }
};

// A Plan whose pair steps are the steps that remain after the contractions. These steps and f read only the first
// `kept` entries of each level.
//
// The summand is f times the vector of `vector_sum`, if there is one (of size > 0); f then also contains the numbers of
// the pair that the entries of this vector need. `factor` is the slot that multiplies the sum of a row, 0 for none;
// `entry_factors` multiply a sum entry by entry.
//
// If an exponent is expanded, the norms come first in their levels, and pairs have a second version. If columns are
// `weighted`, 2^column_norm multiplies the weight of a column, or is the weight, instead of being added to each
// exponent; the column norm then does not come first. If summed vectors are multiplied by the weights of an expansion,
// the square roots of the weights (`roots`) replace the weights, or are a factor of the vectors; the sums are
// multiplied by the roots with the signs of the weights.
struct TiledPlan : Plan {
  mutable std::shared_ptr<cuda::KernelCache> cached_kernels;  // for one thread at a time
  int factor = 0, roots = 0, entry_factors = 0;
  Expansion expansion{};
  Entries inner_product{};  // replaces the contraction of the distance
  std::vector<Entries> contractions;
  Entries vector_sum{};
  Nearest nearest{};
  PanelPlan panels{};
  std::array<int, 3> kept{};
  bool weighted = false;
  int column_weight() const { return slots[f].level == Level::column ? f : slots[w].level == Level::column ? w : 0; }
  bool tiled() const { return !contractions.empty() || vector_sum.size > 0; }
  // true for an inner product of a vector of the row and a vector of the column
  bool is_product(const Entries& made) const;
  int row_in_vector_sum() const;
  bool adds_columns() const;             // true if the summed vector belongs to the column
  bool sums_columns_of_product() const;  // true if that column is in the only contraction, an inner product
};
// The optimisations that tile() may apply: long vectors, inner products of floats as 16-bit numbers on tensor cores,
// reductions in bulk and, for short vectors, square roots of weights.
struct Wanted {
  bool long_vectors = false, products = false, bulk = false, roots = false;
};
TiledPlan tile(const Plan& plan, const Wanted& wanted);

inline bool reads(const Step& step, int slot) {
  return std::find(std::begin(step.in), std::end(step.in), slot) != std::end(step.in);
}

// Finds the expansion of an exponent, without applying it. By default vectors must be long; if a thread keeps its rows
// in registers, vectors of any length are expanded.
int long_enough(const Plan& plan);  // minimum length of a contraction: smaller if pairs are summed
Expansion find_expansion(const Plan& plan, bool long_vectors);
Expansion find_product(const Plan& plan);

}  // namespace kernops
