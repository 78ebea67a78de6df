// Converts parsed formulas to nodes, and checks the sizes of all arguments.
#pragma once
#include "formula/op_table.h"

namespace kernops {

using Scope = std::map<std::string, Tree>;  // the trees that names stand for

// The scope for the formulas in a row of ops.def: arguments (small letters), their sizes (capitals) and the integers.
Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
std::string variable_key(int position);  // the key of Var(position, ...) in a Scope

// Converts `expr` to nodes. `over` is used for gradients in reductions.def: the axes of the reduction.
Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over = none);

// For Let(a, f, b, g, h): returns `scope` extended by the names a, for f, and b, for g; h is then built in this scope.
Scope with_names(Graph& graph, const Expr& let, Scope scope, unsigned over = none);

}  // namespace kernops
