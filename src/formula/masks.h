// Masks: conditions that make a value zero even if its other factors are infinite or NaN. Reverse-mode differentiation
// needs masks, so that a branch of IfElse that is not taken has the gradient 0, although 0 times infinity would be NaN.
#pragma once
#include "formula/build.h"

namespace kernops {

// Computes the masks of nodes. The masks are created in the order of the nodes, each only once, so that deeply nested
// formulas need no deep recursion.
class Masks {
 public:
  explicit Masks(Graph& graph) : graph_(graph) {}

  // Returns the mask of t, a tree of size 1 or of the size of t, or -1 if t has no mask. Where the mask is 0, t is 0,
  // or is 0 times an infinity. Masks follow from the formula, not from data: they come from comparisons, from branches
  // of IfElse and OneHot, and from the zeros with which operations such as ElemT pad an entry.
  Tree of(Tree t);

 private:
  bool is_zero(Tree t) const;
  Tree mask_of(Tree t);
  Tree chain(Tree outer, Tree inner);
  Tree either(Tree a, Tree b);
  static bool is_filled(const Node& node);
  Tree any(Tree mask);
  Tree expanded(Tree mask, int size);
  Tree branch(const Node& node);
  Tree moved(const Node& node, bool fills);
  Tree concatenated(const Node& node);

  Graph& graph_;
  std::vector<Tree> masks_;
};

}  // namespace kernops
