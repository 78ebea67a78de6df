// Syntax -> nodes, with every size checked.
#pragma once
#include "formula/op_table.h"

namespace kernops {

using Scope = std::map<std::string, Tree>;  // what names stand for

// The meaning of the letters in a row of the table: its arguments, their sizes (in capitals) and its integers.
Scope arguments_scope(const OpRow& row, Graph& graph, const std::vector<Tree>& args, const std::vector<int>& ints);
std::string variable_key(int position);  // the name under which Var(position, ...) stands in a Scope

// `over`: the axes of the reduction that a gradient row of reductions.def belongs to.
Tree build(Graph& graph, const Expr& expr, const Scope& scope, unsigned over = none);

// Let(a, f, b, g, h): `scope` with a for f and b for g, in which h is to be built.
Scope with_names(Graph& graph, const Expr& let, Scope scope, unsigned over = none);

}  // namespace kernops
