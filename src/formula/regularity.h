// Regularity of whole expressions: whether values may be infinite, and whether derivatives vanish, by FINITE and FLAT
// of ops.def.
#pragma once
#include "formula/build.h"

namespace kernops {

// Each property is computed once for each node, in the order of the nodes, so that deep formulas need no deep stack.
class Regularity {
 public:
  explicit Regularity(const Graph& graph) : graph_(graph) {}

  // True if all entries of t are finite whenever data and parameters are finite. Polynomials count as finite: overflow
  // of products of data is ignored.
  bool is_finite(Tree t);
  // True if the value of a gradient row in a scope is finite, where g counts as finite.
  bool is_finite(const Expr& row, const Scope& scope);

  bool is_flat(Tree t);
  // True if t is a product that has `a`, or a power of `a`, as a factor.
  bool has_factor(Tree t, Tree a) const;

 private:
  bool finite(const Node& node) const;
  bool flat(const Node& node) const;
  bool is_extreme(const Node& difference) const;
  bool is_quadratic(Tree v, Tree other) const;

  const Graph& graph_;
  std::vector<bool> finite_, flat_;
};

}  // namespace kernops
