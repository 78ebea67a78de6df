// Products in a better order.
#pragma once
#include "formula/graph.h"

namespace kernops {

// The same reduction with its products ordered by what depends on which axis, and exponentials in base 2 if
// asked.
Reduction regroup(Graph& graph, Reduction reduction, bool base_2);

}  // namespace kernops
