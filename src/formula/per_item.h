// Operations with matrices of parameters on differences x - y, computed once per item: D operations per pair instead of
// D^2.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Rewrites operations with a parameter matrix A. (x - y)' A (x - y) becomes a squared distance of Q x and Q y, whose
// weights are the eigenvalues of A and Q its eigenvectors; A (x - y) becomes A x - A y. Vectors are centred at a point
// among the rows, so that a common offset loses no digits.
class PerItem {
 public:
  // `rows` is the axis of the rows; if it is `none`, no operation changes.
  PerItem(Graph& graph, unsigned rows) : graph_(graph), rows_(rows) {}

  // Returns the replacement of an operation on pairs, or -1 to keep it; `rewritten` holds its rewritten arguments.
  Tree operator()(const Node& node, const std::vector<Tree>& rewritten);

 private:
  bool is(Tree t, OpId op) const;
  Tree difference(Tree t) const;
  Tree matrix(Tree t, int columns) const;
  Tree square(const Node& node, const std::vector<Tree>& rewritten);
  Tree product(const Node& node, int matrix_at, const std::vector<Tree>& rewritten);
  Tree sum(Tree first, Tree second);
  std::array<Tree, 3> times_products(Tree t) const;
  template <class F> std::array<Tree, 2> both_of(Tree difference, const std::vector<Tree>& rewritten, const F& made);

  Graph& graph_;
  const unsigned rows_;
};

}  // namespace kernops
