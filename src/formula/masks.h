// Where a value is zero whatever its other factors are, and where it may be infinite. The reverse pass reads both, so
// that zero times infinity is zero in a branch that is not taken.
#pragma once
#include "formula/build.h"

namespace kernops {

// Each answer is computed once for each node, in the order of the nodes, so that deep formulas need no deep stack.
class Masks {
 public:
  explicit Masks(Graph& graph) : graph_(graph) {}

  // A tree of size 1 or of the size of t: where the mask is 0, t is 0 or the product of 0 and an infinity. -1 stands
  // for no mask. Masks come from conditions, not from data: comparisons, branches of IfElse, OneHot, and the zeros that
  // ElemT and its kin put beside an entry.
  Tree of(Tree t);

  // True if all entries of t are finite where data and parameters are. Polynomials count as finite: products of data
  // that overflow are left out.
  bool is_finite(Tree t);
  // The same question for the value of a gradient row in a scope, where g counts as finite.
  bool is_finite(const Expr& row, const Scope& scope);

  // True if all derivatives of t are 0 where t is 0, as those of a squared distance are. Norms and angles are flat as
  // well: their derivative at 0 is taken as 0 (Rsqrt).
  bool is_flat(Tree t);
  // True if t is a product with a factor that is `a`, or a power of it.
  bool has_factor(Tree t, Tree a) const;

 private:
  bool is(Tree t, OpId op) const;
  bool is_zero(Tree t) const;
  Tree mask_of(Tree t);
  Tree chain(Tree outer, Tree inner);
  Tree either(Tree a, Tree b);
  Tree any(Tree mask);
  Tree expanded(Tree mask, int size);
  Tree branch(const Node& node);
  Tree moved(const Node& node, bool fills);
  Tree concatenated(const Node& node);
  bool finite(const Node& node) const;
  bool flat(const Node& node) const;
  bool is_extreme(const Node& difference) const;

  Graph& graph_;
  std::vector<Tree> masks_;
  std::vector<bool> finite_, flat_;
};

}  // namespace kernops
