// Products in an efficient order.
#pragma once
#include "formula/graph.h"

namespace kernops {

// The same reduction with its products ordered by the axes of their factors, and with exponentials in base 2 if
// requested.
Reduction regroup(Graph& graph, Reduction reduction, bool base_2);

}  // namespace kernops
