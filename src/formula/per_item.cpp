#include "formula/per_item.h"

#include "formula/op_table.h"

namespace kernops {
namespace {

constexpr int longest = 64;  // maximum number of rows of a square matrix; each call computes its eigenvalues again

}  // namespace

bool PerItem::is(Tree t, OpId op) const { return kernops::is(graph_[t], op); }

// Returns t if t is a difference x - y of a vector of the rows and a vector of the columns, in any order, and the
// vector of the rows is a variable. Otherwise returns -1.
Tree PerItem::difference(Tree t) const {
  if (!is(t, OpId::Subtract)) return -1;
  const Node &x = graph_[graph_[t].args[0]], &y = graph_[graph_[t].args[1]];
  if (x.size != y.size || x.axes == none || y.axes == none || x.axes == both || y.axes == both || x.axes == y.axes)
    return -1;
  return (x.axes == rows_ ? x : y).kind == Node::variable ? t : -1;
}

// Returns t if t is a parameter that is a matrix with several columns and, if it is square, small enough for an
// eigendecomposition. Otherwise returns -1.
Tree PerItem::matrix(Tree t, int columns) const {
  const Node& node = graph_[t];
  const bool fits = columns > 1 && (columns <= longest || node.size != columns * columns);
  return node.kind == Node::variable && node.axes == none && fits ? t : -1;
}

// Centres the two vectors of a difference, applies made() to each of the two vectors, and returns the two results. The
// caller subtracts the second result from the first.
template <class F>
std::array<Tree, 2> PerItem::both_of(Tree difference, const std::vector<Tree>& rewritten, const F& made) {
  const auto args = graph_[difference].args;
  const Node of_rows = graph_[args[graph_[args[0]].axes == rows_ ? 0 : 1]];
  const Tree centre = graph_.of_variable(Node::centre, of_rows.id, of_rows.size);
  const auto of = [&](Tree vector) { return made(graph_.operation(OpId::Subtract, {rewritten[vector], centre})); };
  return {of(args[0]), of(args[1])};
}

Tree PerItem::operator()(const Node& node, const std::vector<Tree>& rewritten) {
  if (rows_ == none) return -1;
  switch (OpId(op_table()[node.id].id)) {
    case OpId::Scalprod: return square(node, rewritten);
    case OpId::MatVecMult: return product(node, 0, rewritten);
    case OpId::VecMatMult: return product(node, 1, rewritten);
    case OpId::Add: return sum(rewritten[node.args[0]], rewritten[node.args[1]]);
    default: return -1;
  }
}

Tree PerItem::square(const Node& node, const std::vector<Tree>& rewritten) {
  for (const int n : {0, 1}) {
    const Tree vector = node.args[n], other = node.args[1 - n];
    if (difference(vector) < 0) continue;
    const int size = graph_[vector].size;
    for (const auto& [op, at] : {std::make_pair(OpId::MatVecMult, 0), std::make_pair(OpId::VecMatMult, 1)}) {
      if (!is(other, op) || graph_[other].args[1 - at] != vector) continue;
      const Tree parameter = matrix(graph_[other].args[at], size);
      if (parameter < 0 || size > longest) continue;
      const int number = graph_[parameter].id;
      const Tree values = graph_.of_variable(Node::eigenvalues, number, size);
      const Tree vectors = graph_.of_variable(Node::eigenvectors, number, size * size);
      const auto [x, y] = both_of(vector, rewritten, [&](Tree seen) {
        return graph_.operation(OpId::MatVecMult, {vectors, seen});
      });
      return graph_.operation(OpId::DiagSqDist, {values, x, y});
    }
  }
  return -1;
}

// Rewrites the product of a matrix and a difference, or of a matrix and a number times a difference.
Tree PerItem::product(const Node& node, int matrix_at, const std::vector<Tree>& rewritten) {
  Tree vector = node.args[1 - matrix_at], number = -1;
  if (is(vector, OpId::Mult)) {
    const auto args = graph_[vector].args;
    const int at = graph_[args[0]].size == 1 ? 0 : 1;
    vector = args[1 - at], number = args[at];
  }
  const Tree by = node.args[matrix_at];
  if (difference(vector) < 0 || matrix(by, graph_[vector].size) < 0 || (number >= 0 && graph_[number].size != 1))
    return -1;
  const auto [x, y] = both_of(vector, rewritten, [&](Tree seen) {
    return matrix_at == 0 ? graph_.operation(OpId::MatVecMult, {rewritten[by], seen})
                          : graph_.operation(OpId::VecMatMult, {seen, rewritten[by]});
  });
  const Tree result = graph_.operation(OpId::Subtract, {x, y});
  return number < 0 ? result : graph_.operation(OpId::Mult, {result, rewritten[number]});
}

// If t is n (A x - B y) with a number n, matrices A and B, and vectors x and y, returns n, A x and B y; otherwise -1,
// -1, -1.
std::array<Tree, 3> PerItem::times_products(Tree t) const {
  const auto is_product = [&](Tree vector) {
    return graph_[vector].axes != both && (is(vector, OpId::MatVecMult) || is(vector, OpId::VecMatMult));
  };
  if (!is(t, OpId::Mult)) return {-1, -1, -1};
  for (const int n : {0, 1}) {
    const Tree number = graph_[t].args[n], vector = graph_[t].args[1 - n];
    if (graph_[number].size != 1 || !is(vector, OpId::Subtract)) continue;
    const auto [x, y, none] = graph_[vector].args;
    if (is_product(x) && is_product(y)) return {number, x, y};
  }
  return {-1, -1, -1};
}

// Rewrites n (A x - A y) + n (A' x - A' y), which occurs in gradients of squares, as a single difference.
Tree PerItem::sum(Tree first, Tree second) {
  const auto [n, x, y] = times_products(first);
  const auto [m, v, w] = times_products(second);
  if (n < 0 || n != m || graph_[x].axes != graph_[v].axes || graph_[y].axes != graph_[w].axes ||
      graph_[x].size != graph_[v].size)
    return -1;
  const Tree of_x = graph_.operation(OpId::Add, {x, v}), of_y = graph_.operation(OpId::Add, {y, w});
  return graph_.operation(OpId::Mult, {graph_.operation(OpId::Subtract, {of_x, of_y}), n});
}

}  // namespace kernops
