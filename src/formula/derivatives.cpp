// The derivatives that users can write in formulas: Diff, Divergence, Laplacian and others.
#include "formula/built.h"
#include "formula/gradient.h"

namespace kernops {
namespace built {
namespace {

Tree unit(Graph& graph, int size, int k) { return graph.operation(OpId::ElemT, {graph.constant(1)}, {size, k}); }

void check_variable(const Graph& graph, Tree v) {
  if (graph[v].kind != Node::variable)
    fail("derivatives are taken with respect to a variable: the second argument must be a variable");
}

// The directional derivative (df/dv) u. The gradient (df/dv)^T g is linear in g, so the gradient of (df/dv)^T g with
// respect to g, along u, is (df/dv) u.
Tree along(Graph& graph, Tree f, Tree v, Tree u) {
  const int size = graph[f].size;
  const Tree g = graph.variable(-1 - graph.count(), size, none);
  const Tree back = gradient(graph, f, v, g);
  const Tree forth = back < 0 ? -1 : gradient(graph, back, g, u);
  return forth < 0 ? graph.operation(OpId::Zero, {}, {size}) : forth;
}

}  // namespace

Tree grad_matrix(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  Trees rows;
  for (int size = graph[args[0]].size, k = 0; k < size; ++k)
    rows.push_back(gradient_or_zeros(graph, args[0], args[1], unit(graph, size, k)));
  return concat(graph, rows);
}

Tree diff(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  if (graph[args[2]].size != graph[args[1]].size)
    fail("the direction must have the size of the variable, " + std::to_string(graph[args[1]].size) + ", not " +
         std::to_string(graph[args[2]].size));
  return along(graph, args[0], args[1], args[2]);
}

Tree divergence(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  const int size = graph[args[1]].size;
  if (graph[args[0]].size != size)
    fail("the argument of a divergence must have as many entries as the variable, " + std::to_string(size) + ", not " +
         std::to_string(graph[args[0]].size));
  Tree sum = -1;
  for (int k = 0; k < size; ++k) {
    const Tree term = graph.operation(OpId::Elem, {along(graph, args[0], args[1], unit(graph, size, k))}, {k});
    sum = sum < 0 ? term : graph.operation(OpId::Add, {sum, term});
  }
  return sum;
}

// Checks that f is linear in v: the gradient of a linear map, for any incoming gradient g, does not depend on v.
void check_linear(Graph& graph, Tree f, Tree v) {
  const Tree g = graph.variable(-1 - graph.count(), graph[f].size, none);
  const Tree back = gradient(graph, f, v, g);
  if (back < 0) return;
  const Tree h = graph.variable(-1 - graph.count(), graph[back].size, none);
  if (gradient(graph, back, v, h) >= 0) fail("the first argument must be linear in the variable");
}

Tree trace_operator(Graph& graph, const Trees& args, const Lists& lists) {
  const Tree trace = divergence(graph, args, lists);
  check_linear(graph, args[0], args[1]);
  return trace;
}

Tree adjoint_operator(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  if (graph[args[2]].size != graph[args[0]].size)
    fail("the adjoint is applied to a vector of the size of the first argument, " +
         std::to_string(graph[args[0]].size) + ", not " + std::to_string(graph[args[2]].size));
  check_linear(graph, args[0], args[1]);
  return gradient_or_zeros(graph, args[0], args[1], args[2]);
}

Tree laplacian(Graph& graph, const Trees& args, const Lists&) {
  check_variable(graph, args[1]);
  if (graph[args[0]].size != 1) fail("a Laplacian requires a scalar");
  return divergence(graph, {gradient_or_zeros(graph, args[0], args[1], graph.constant(1)), args[1]}, {});
}

}  // namespace built
}  // namespace kernops
