// Composite operations that C++ functions build from other operations: one function for each row BUILT of ops.def.
#pragma once
#include "formula/graph.h"

namespace kernops {

// A composite operation. In a formula, the arguments of the operation are vectors, followed by lists of integers.
struct Built {
  Tree (*make)(Graph&, const std::vector<Tree>& vectors, const std::vector<std::vector<int>>& lists);
  size_t vectors, least_lists, most_lists;
};
const Built* find_built(const std::string& name);  // null if there is no operation with this name

namespace built {

using Trees = std::vector<Tree>;
using Integers = std::vector<int>;
using Lists = std::vector<Integers>;

Tree tensor_dot(Graph& graph, const Trees& args, const Lists& lists);  // formula/tensors.cpp
Tree kron(Graph& graph, const Trees& args, const Lists& lists);
Tree soft_dtw(Graph& graph, const Trees& args, const Lists& lists);     // formula/soft_dtw.cpp
Tree grad_matrix(Graph& graph, const Trees& args, const Lists& lists);  // formula/derivatives.cpp
Tree diff(Graph& graph, const Trees& args, const Lists& lists);
Tree divergence(Graph& graph, const Trees& args, const Lists& lists);
Tree laplacian(Graph& graph, const Trees& args, const Lists& lists);
Tree trace_operator(Graph& graph, const Trees& args, const Lists& lists);
Tree adjoint_operator(Graph& graph, const Trees& args, const Lists& lists);

[[noreturn]] void fail(const std::string& message);  // formula/built.cpp
Tree concat(Graph& graph, const Trees& parts);

}  // namespace built
}  // namespace kernops
