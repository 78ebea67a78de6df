// Writes formulas as text, for messages and print().
#pragma once
#include "formula/parse.h"
#include "formula/program.h"

namespace kernops {

std::string counted(long long n, const char* one, const char* many);  // "1 entry", "2 entries"
std::string text_of(const Expr& e);
std::string text_of(const Graph& graph, Tree tree, const std::vector<Variable>& variables);

}  // namespace kernops
