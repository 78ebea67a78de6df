// Reverse-mode differentiation of formulas and of whole reductions, by the gradients that ops.def and reductions.def
// define.
#include "formula/gradient.h"

#include <algorithm>

#include "formula/limits.h"
#include "formula/masks.h"
#include "formula/regularity.h"

namespace kernops {
namespace {

Tree add(Graph& graph, Tree a, Tree b) { return a < 0 ? b : b < 0 ? a : graph.operation(OpId::Add, {a, b}); }

// Fits a gradient to the size of its argument. If the argument was recycled, its gradient is the sum of the entries. If
// the gradient is a single number, the number is recycled.
Tree fit(Graph& graph, Tree g, int size) {
  const int now = graph[g].size;
  if (now == size) return g;
  return size == 1 ? graph.operation(OpId::Sum, {g}) : graph.operation(OpId::SumT, {g}, {size});
}

// One reverse pass, from the last node down to the node v. A node first receives the gradients from all nodes that use
// it, and then passes gradients on to its arguments. Therefore each node is differentiated only once, even if several
// nodes use this node. This also holds for nodes that are reduced before the loop over pairs.
class Pass {
 public:
  Pass(Graph& graph, Tree last, Tree v)
      : graph_(graph), masks_(graph), regularity_(graph), v_(v), depends_(last + 1, false), received_(last + 1, -1) {
    for (Tree t = v; t <= last; ++t) depends_[t] = t == v || any_depends(t);
  }

  void give(Tree t, Tree g) {
    if (depends(t)) received_[t] = add(graph_, received_[t], fit(graph_, g, graph_[t].size));
  }

  // Passes gradients on to the arguments f and w of a reduction, as the reduction's row of reductions.def defines them.
  void through(const Reduction& reduction, Tree g) {
    const ReductionRow& row = reduction_table()[reduction.row];
    const Tree reduced[] = {reduction.f, reduction.w};
    Scope scope = {{"f", reduction.f},
                   {"g", g},
                   {"F", graph_.constant(graph_[reduction.f].size)},
                   {"p", graph_.constant(reduction.k)}};
    if (reduction.w >= 0) {
      scope["w"] = reduction.w;
      scope["W"] = graph_.constant(graph_[reduction.w].size);
    }
    for (size_t n = 0; n < row.gradients.size(); ++n)
      if (depends(reduced[n]) && !is_zero(row.gradients[n]))
        give(reduced[n], build(graph_, row.gradients[n], scope, reduction.over));
  }

  Tree at_v() {
    for (Tree t = Tree(received_.size()) - 1; t > v_; --t) {
      look_up();
      if (received_[t] < 0) continue;
      if (graph_[t].kind == Node::reduced)
        through_reduced(t);
      else
        through_operation(t);
    }
    return received_[v_];
  }

 private:
  bool depends(Tree t) const { return t >= v_ && depends_[t]; }

  bool any_depends(Tree t) const {
    const Node& node = graph_[t];
    if (node.kind != Node::reduced)
      return std::any_of(node.args.begin(), node.args.end(), [this](Tree arg) { return depends(arg); });
    const Reduction& inner = graph_.reductions[node.id];
    return depends(inner.f) || depends(inner.w);
  }

  void through_operation(Tree t) {
    const Node node = graph_[t];
    const OpRow& row = op_table()[node.id];
    const size_t vectors = row.vectors.size();
    Scope scope = arguments_scope(row, graph_, {node.args.begin(), node.args.begin() + vectors},
                                  {node.ints.begin(), node.ints.begin() + row.integers.size()});
    scope["g"] = received_[t];
    for (size_t n = 0; n < vectors; ++n)
      if (depends(node.args[n]) && !is_zero(row.gradients[n])) give(node.args[n], through_row(row, n, scope));
  }

  // Builds the gradient with respect to argument n, as the row of the table defines it. A mask is a condition that
  // makes a value zero even if another factor is infinite. If g or another factor of the gradient has a mask, the
  // gradient is masked, too. If neither g nor a factor has a mask, the gradient is built without a mask. If the
  // gradient may be infinite, the mask is removed from g and applied to the whole gradient, so that a chain of infinite
  // gradients is masked only once.
  Tree through_row(const OpRow& row, size_t n, Scope scope) {
    const Expr& gradient = row.gradients[n];
    const Tree g = scope["g"], mask = masks_.of(g);
    const bool moves = mask >= 0 && !regularity_.is_finite(gradient, scope);
    // true if the gradient has the same mask as g
    const bool same = row.entrywise() || (mask >= 0 && graph_[mask].size == 1);
    const Tree moved = !moves || same ? mask : masks_.of(build(graph_, gradient, scope));
    if (moves && same) scope["g"] = without(mask, g);
    Tree made = build(graph_, gradient, scope);
    if (!regularity_.is_finite(scope["g"]) && reads_mask(gradient, scope)) made = masked(masks_.of(made), made);
    if (n == 0 && !is_zero(row.steep) && (regularity_.is_flat(scope["a"]) || regularity_.has_factor(g, scope["a"])))
      made = masked(build(graph_, row.steep, scope), made);
    return moves ? masked(moved, made) : made;
  }

  Tree masked(Tree mask, Tree t) { return mask < 0 ? t : graph_.operation(OpId::Mask, {mask, t}); }

  // Returns h if t is Mask(mask, h), otherwise t.
  Tree without(Tree mask, Tree t) const {
    const Node& node = graph_[t];
    const bool is_mask = is(node, OpId::Mask);
    return is_mask && node.args[0] == mask ? node.args[1] : t;
  }

  bool reads_mask(const Expr& gradient, const Scope& scope) {
    if (gradient.kind == Expr::name) return gradient.text != "g" && masks_.of(scope.at(gradient.text)) >= 0;
    return std::any_of(gradient.args.begin(), gradient.args.end(),
                       [&](const Expr& arg) { return reads_mask(arg, scope); });
  }

  // Differentiates a value that is reduced before the loop over pairs. The value does not vary along the reduced axis,
  // so its gradient is summed over this axis.
  void through_reduced(Tree t) {
    const Reduction inner = graph_.reductions[graph_[t].id];
    through(inner, graph_.reduced({find_reduction("Sum", false), 0, received_[t], -1, inner.over, inner.size}));
  }

  Graph& graph_;
  Masks masks_;
  Regularity regularity_;
  const Tree v_;
  std::vector<bool> depends_;  // true for nodes that depend on v
  std::vector<Tree> received_;
};

}  // namespace

Tree gradient(Graph& graph, Tree f, Tree v, Tree g) {
  if (v > f) return -1;
  Pass pass(graph, f, v);
  pass.give(f, g);
  return pass.at_v();
}

Tree gradient(Graph& graph, const Reduction& reduction, Tree v, Tree g) {
  const Tree last = std::max(reduction.f, reduction.w);
  if (v > last) return -1;
  Pass pass(graph, last, v);
  pass.through(reduction, g);
  return pass.at_v();
}

}  // namespace kernops
