// Reorders the factors of products for speed.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Returns an equal reduction in which the factors of products are ordered by their axes. If `base_2` is true,
// exponentials are replaced by powers of 2.
Reduction regroup(Graph& graph, Reduction reduction, bool base_2);

}  // namespace kernops
