// Converts parsed formulas to nodes, and checks the sizes of all arguments.
#pragma once
#include "formula/op_table.h"

namespace kernops {

using Scope = std::map<std::string, Tree>;  // the node for which each name stands

// The scope for the formulas in a row of ops.def. The scope has the arguments (small letters), their sizes (capitals)
// and the integer arguments.
Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
std::string variable_key(int position);  // the key of Var(position, ...) in a Scope

// Converts `expr` to nodes. In gradients of reductions.def, `over` has the axes of the reduction that is
// differentiated.
Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over = none);

// For Let(a, f, b, g, h), returns `scope` with two more names: a for f, and b for g. The caller builds h in this scope.
Scope with_names(Graph& graph, const Expr& let, Scope scope, unsigned over = none);

}  // namespace kernops
