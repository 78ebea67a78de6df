// Rewrites operations with matrix parameters on differences x - y such that the matrix is multiplied by each point
// once, and not by the difference of each pair. For points with D entries, the work for a pair is then proportional to
// D instead of D^2.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Rewrites operations with a matrix parameter A. (x - y)' A (x - y) becomes a squared distance between Q x and Q y,
// weighted by the eigenvalues of A, where Q has the eigenvectors of A. A (x - y) becomes A x - A y. Before the matrix
// is multiplied, a point near the points of the rows is subtracted from x and y, so that a common offset causes no
// cancellation.
class PerItem {
 public:
  // `rows` is the axis of the rows of the result; if it is `none`, no operation is rewritten.
  PerItem(Graph& graph, unsigned rows) : graph_(graph), rows_(rows) {}

  // Returns the replacement of `node`, an operation on pairs, or -1 if `node` is kept. `rewritten` has the arguments of
  // the operation after they were rewritten.
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
