// Two properties of expressions, derived from FINITE and FLAT of ops.def: whether a value may be infinite, and whether
// it is flat. A value is flat if its derivatives vanish where the value is 0.
#pragma once
#include "formula/build.h"

namespace kernops {

// Computes each property once for each node, in the order of the nodes, so that deeply nested formulas need no deep
// recursion.
class Regularity {
 public:
  explicit Regularity(const Graph& graph) : graph_(graph) {}

  // True if all entries of t are finite for finite data and parameters. Overflow is ignored, so polynomials count as
  // finite.
  bool is_finite(Tree t);
  // True if the gradient in a row of ops.def is finite, with arguments from `scope`, for a finite g.
  bool is_finite(const Expr& row, const Scope& scope);

  bool is_flat(Tree t);
  // True if t is a product in which `a`, or a power of `a`, is a factor.
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
