// Masks: conditions that make a value zero whatever its other factors are. The reverse pass needs this, so that zero
// times infinity is zero in a branch that is not taken.
#pragma once
#include "formula/build.h"

namespace kernops {

// The masks of nodes. Each mask is created once for each node, in the order of the nodes, so that deep formulas need no
// deep stack.
class Masks {
 public:
  explicit Masks(Graph& graph) : graph_(graph) {}

  // A tree of size 1 or of the size of t: if the mask is 0, t is 0 or the product of 0 and an infinity. -1 stands for
  // no mask. Masks come from conditions, not from data: comparisons, branches of IfElse, OneHot, and the zeros with
  // which ElemT and similar operations pad an entry.
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
