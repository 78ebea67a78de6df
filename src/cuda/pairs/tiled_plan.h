// A Plan as a GPU takes it: with long vectors contracted and summed by tiles, and exponents of distances expanded.
#pragma once
#include <algorithm>
#include <map>

#include "formula/plan.h"

namespace kernops {

namespace cuda {
struct KernelCache;  // cuda/pairs/device_worker.cpp
}

// A vector entry by entry, or its sum: the steps are to be read as if all sizes were 1. Without steps, the only leaf.
struct Entries {
  int slot, size;
  std::vector<int> leaves;  // slots of vectors of rows, columns or once
  std::vector<Step> steps;
  std::vector<int> numbers;  // slots of what a pair has for all entries, if these take more than vectors
};

// Slots of the exponent c |x - y|^2, of |x - y|^2 in it, and of what it expands to: c |x|^2 + c |y|^2 + (x' | y'),
// where x' = -2 c x and y' = y. Where the inner product is contracted, x' and y' are scaled by put_scaled() of
// cuda/values.cuh, and all is seen from a point, the centre, if there is one. Where there is a root, that of the
// distance, the exponent is c |x - y|, which is -|x' - y'| with x' = -c x and y' = -c y; the norms are |x'| and |y'|
// then, and infinite or NaN unless c < 0. `factors` tells of other products with the root or the distance, by their
// slots, what multiplies those of x' and y' instead. Where there are weights of the coordinates, those of the vectors
// have them too, and norms are infinite or NaN unless all weights are >= 0. All 0 where there is none.
//
// Where it is `rooted`, nothing is expanded: the vectors are those of a distance with weights, which stands as
// exponent, too, and of a sum, r (x - y), where r are the roots of the weights. Near ones are taken times r, which
// leaves a pair two multiplications less for each entry; norms are their squared lengths, in parts of what rounding
// allows.
//
// Where it is a `product`, exponent and distance are both (x | y), a contraction, which is that of the two vectors
// times powers of two, one of the row and one of the column; norms say how far apart entries are (put_product()).
struct Expansion {
  int exponent, distance, root, factor, row, column, weights;
  int row_norm, column_norm, row_vector, column_vector, centre;
  std::map<int, int> factors;
  bool product = false, rooted = false;
  int row_power = 0, column_power = 0;
};

// The columns that are nearest to each row: the number k requested, 0 for none, and the number listed, a multiple of 32
// (cuda/wide/nearest.cuh). `row` and `column` are the slots of their vectors. The distance is the squared distance or,
// where `product` is 1 or -1, `product` times the inner product.
struct Nearest {
  int row, column, k, listed;
  bool root;  // of the squared distance
  int product;
  bool negated;  // the result is that with the other sign
};

// The products and sums of panels: contraction n of a pair is the product of vectors of its row and its column, with
// `size` entries; number n of a pair is multiplied by a vector of the column, `width` long, and its total by `factor`,
// if it has one, and by a vector of the row, each 0 where there is none. The sums of vectors of columns are multiplied
// by `scale`, if there is one. No terms where panels cannot take the plan. While the plan is built, a `difference` of 1
// or -1 stands for both vectors: the vectors of an expanded exponent, or their negatives.
struct PanelPlan {
  struct Product {
    int row, column, size;
  };
  struct Term {
    int number, column, row, difference, factor = 0;
  };
  std::vector<Product> products;
  std::vector<Term> terms;
  int width = 0;  // 0 where a result is the total of a number
  int scale = 0;
  bool several() const { return products.size() > 1 || terms.size() > 1; }
  bool adds(int column) const {
    return std::any_of(terms.begin(), terms.end(), [=](const Term& term) { return term.column == column; });
  }
  int adding() const {  // numbers that multiply vectors of the columns
    return int(std::count_if(terms.begin(), terms.end(), [](const Term& term) { return term.column != 0; }));
  }
};

// A Plan whose pair steps are the remaining steps after the contractions: they and f read only the first `kept` entries
// of each level. The summand is f times the vector of `vector_sum`, if there is one (of size > 0); f holds the numbers
// that make its entries, if it has some. With the norms of an expansion, which come first in their levels, the pairs
// have a second evaluation. `factor` is the slot that multiplies the sum of a row, 0 for none. Where columns are
// `weighted`, 2^column_norm multiplies the weight of a column, or is the weight, instead of adding to each exponent;
// then that norm does not come first. `entry_factors` multiply a sum entry by entry. Where summed vectors are
// multiplied by the weights of an expansion, the `roots` of the weights replace the weights or are a factor of the
// vectors, and the roots with the signs of the weights are the factors.
struct TiledPlan : Plan {
  mutable std::shared_ptr<cuda::KernelCache> cached_kernels;  // for one thread at a time
  int factor = 0, roots = 0, entry_factors = 0;
  Expansion expansion{};
  Entries inner_product{};  // what stands for the contraction of the distance then
  std::vector<Entries> contractions;
  Entries vector_sum{};
  Nearest nearest{};
  PanelPlan panels{};
  std::array<int, 3> kept{};
  bool weighted = false;
  int column_weight() const { return slots[f].level == Level::column ? f : slots[w].level == Level::column ? w : 0; }
  bool tiled() const { return !contractions.empty() || vector_sum.size > 0; }
  bool is_product(const Entries& made) const;  // whether that is the inner product of two vectors, of row and column
  int row_in_vector_sum() const;
  bool adds_columns() const;             // whether the vector of a sum is one of the column
  bool sums_columns_of_product() const;  // the only contraction, an inner product: the column's vector of it
};
// The optimisations that tile() looks for: long vectors, inner products of floats that tensor cores take as numbers of
// 16 bits, and reductions in bulk; and, for short vectors, roots of weights.
struct Wanted {
  bool long_vectors = false, products = false, bulk = false, roots = false;
};
TiledPlan tile(const Plan& plan, const Wanted& wanted);

inline bool reads(const Step& step, int slot) {
  return std::find(std::begin(step.in), std::end(step.in), slot) != std::end(step.in);
}

// The expansion of an exponent, before it is applied: for long vectors or, where each row is in the registers of a
// thread, for any.
int long_enough(const Plan& plan);  // to be contracted: less where pairs are summed
Expansion find_expansion(const Plan& plan, bool long_vectors);
Expansion find_product(const Plan& plan);

}  // namespace kernops
