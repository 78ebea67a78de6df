// Products in an efficient order.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Returns the same reduction with products ordered by the axes of their factors and, if requested, exponentials in base
// 2.
Reduction regroup(Graph& graph, Reduction reduction, bool base_2);

}  // namespace kernops
