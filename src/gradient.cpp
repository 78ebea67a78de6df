// DiffT: reverse-mode differentiation of formulas and of whole reductions, by the gradient columns of the
// tables.
#include "gradient.h"

#include "build.h"

namespace kernops {
namespace {

Tree add(Graph& graph, Tree a, Tree b) { return a < 0 ? b : b < 0 ? a : graph.operation("Add", {a, b}); }

// What a repeated argument receives is summed; what came out shorter is repeated.
Tree fit(Graph& graph, Tree g, int size) {
  const int now = graph[g].size;
  if (now == size) return g;
  return size == 1 ? graph.operation("Sum", {g}) : graph.operation("SumT", {g}, {size});
}

// For each node up to f, whether it depends on the node v.
std::vector<bool> dependents(const Graph& graph, Tree f, Tree v) {
  std::vector<bool> depends(f + 1, false);
  for (Tree t = v; t <= f; ++t) {
    depends[t] = t == v;
    for (const Tree arg : graph[t].args)
      if (arg >= v && depends[arg]) depends[t] = true;
  }
  return depends;
}

}  // namespace

Tree gradient(Graph& graph, Tree f, Tree v, Tree g) {
  if (v > f) return -1;
  const std::vector<bool> depends = dependents(graph, f, v);
  std::vector<Tree> adjoint(f + 1, -1);
  adjoint[f] = g;
  for (Tree t = f; t > v; --t) {
    if (adjoint[t] < 0 || !depends[t]) continue;
    const Node node = graph[t];
    const OpRow& row = op_table()[node.id];
    const size_t vectors = row.vectors.size();
    Scope scope = arguments_scope(row, graph, {node.args.begin(), node.args.begin() + vectors},
                                  {node.ints.begin(), node.ints.begin() + row.integers.size()});
    scope["g"] = adjoint[t];
    for (size_t n = 0; n < vectors; ++n) {
      const Tree arg = node.args[n];
      if (!depends[arg] || is_zero(row.gradients[n])) continue;
      adjoint[arg] =
          add(graph, adjoint[arg], fit(graph, build(graph, row.gradients[n], scope), graph[arg].size));
    }
  }
  return adjoint[v];
}

// d/dv of a reduction R of f (and w): what reaches f and w is written in reductions.def. A value H that was
// reduced beforehand passes on what it receives, itself summed over the axis that H was reduced over.
Tree gradient(Graph& graph, const Reduction& reduction, Tree v, Tree g) {
  const ReductionRow& row = reduction_table()[reduction.row];
  const Tree reduced[] = {reduction.f, reduction.w};
  Scope scope = {{"f", reduction.f},
                 {"g", g},
                 {"F", graph.constant(graph[reduction.f].size)},
                 {"p", graph.constant(reduction.k)}};
  if (reduction.w >= 0) {
    scope["w"] = reduction.w;
    scope["W"] = graph.constant(graph[reduction.w].size);
  }

  Tree incoming[] = {-1, -1};
  for (size_t n = 0; n < row.gradients.size(); ++n)
    if (!is_zero(row.gradients[n]))
      incoming[n] = fit(graph, build(graph, row.gradients[n], scope, reduction.over), graph[reduced[n]].size);

  const auto towards = [&](Tree target) {
    Tree sum = -1;
    for (int n = 0; n < 2; ++n)
      if (incoming[n] >= 0) sum = add(graph, sum, gradient(graph, reduced[n], target, incoming[n]));
    return sum;
  };

  Tree result = towards(v);
  for (Tree h = 0; h <= std::max(reduced[0], reduced[1]); ++h) {
    if (graph[h].kind != Node::reduced) continue;
    const Tree received = towards(h);
    if (received < 0) continue;
    const Reduction inner = graph.reductions[graph[h].id];
    const Tree passed =
        graph.reduced({find_reduction("Sum", false), 0, received, -1, inner.over, inner.size});
    result = add(graph, result, gradient(graph, inner, v, passed));
  }
  return result;
}

}  // namespace kernops
