// Reverse-mode differentiation of formulas.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Returns (d f / d v)^T g, which has the size of v; -1 if f does not depend on v.
Tree gradient(Graph& graph, Tree f, Tree v, Tree g);
// Returns the integrand of the vector-Jacobian product of a reduction; -1 if the reduction does not depend on v.
Tree gradient(Graph& graph, const Reduction& reduction, Tree v, Tree g);

// Returns the gradient, or zeros of the size of v if f does not depend on v.
template <class F> Tree gradient_or_zeros(Graph& graph, const F& f, Tree v, Tree g) {
  const Tree derivative = gradient(graph, f, v, g);
  return derivative >= 0 ? derivative : graph.operation(OpId::Zero, {}, {graph[v].size});
}

}  // namespace kernops
