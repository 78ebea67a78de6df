// Conversion of syntax to nodes; checks every size.
#pragma once
#include "formula/op_table.h"

namespace kernops {

using Scope = std::map<std::string, Tree>;  // the trees of names

// The scope of a row of the table: the letters of its arguments, of their sizes (in capitals) and of its integers.
Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
std::string variable_key(int position);  // the name of Var(position, ...) in a Scope

// `over`: the axes of the reduction of a gradient row of reductions.def.
Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over = none);

// Let(a, f, b, g, h): returns `scope` with a for f and b for g, in which h is built.
Scope with_names(Graph& graph, const Expr& let, Scope scope, unsigned over = none);

}  // namespace kernops
