// Simplification of operations by rewriting rules.
#pragma once
#include "formula/graph.h"

namespace kernops {

// Returns the result of the first rule that applies to operation `op` of these arguments; -1 if no rule does.
Tree rewrite(Graph& graph, int op, const std::vector<Tree>& args, const std::vector<int>& ints, int size);

}  // namespace kernops
