// The list of composite operations that C++ functions build from other operations, and helpers of these functions.
#include "formula/built.h"

#include "formula/parse.h"

namespace kernops {
namespace built {

[[noreturn]] void fail(const std::string& message) { throw FormulaError(message, -1); }

Tree concat(Graph& graph, const Trees& parts) {
  Tree whole = parts[0];
  for (size_t n = 1; n < parts.size(); ++n) whole = graph.operation(OpId::Concat, {whole, parts[n]});
  return whole;
}

}  // namespace built

const Built* find_built(const std::string& name) {
  using namespace built;
  static const std::map<std::string, Built> all = {{"TensorDot", {tensor_dot, 2, 4, 5}},
                                                   {"Kron", {kron, 2, 2, 2}},
                                                   {"SoftDTW_SqDist", {soft_dtw, 3, 0, 0}},
                                                   {"GradMatrix", {grad_matrix, 2, 0, 0}},
                                                   {"Diff", {diff, 3, 0, 0}},
                                                   {"Divergence", {divergence, 2, 0, 0}},
                                                   {"Laplacian", {laplacian, 2, 0, 0}},
                                                   {"TraceOperator", {trace_operator, 2, 0, 0}},
                                                   {"AdjointOperator", {adjoint_operator, 3, 0, 0}}};
  const auto match = all.find(name);
  return match == all.end() ? nullptr : &match->second;
}

}  // namespace kernops
