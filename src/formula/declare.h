// The variables of a formula.
#pragma once
#include "formula/parse.h"
#include "formula/program.h"

namespace kernops {

// The variables of declarations such as "x = Vi(3)", and of Var(position, size, category) in the formula.
std::vector<Variable> declare(const std::vector<std::string>& declarations, const Expr& formula);

// The names of declared variables that do not occur in the formula.
std::vector<std::string> unused_variables(const std::vector<Variable>& variables, const Expr& formula);

// A variable within the formula: Var(position, size, category), or Vi(position, size), and Vj and Pm in the same way.
bool is_inline_variable(const Expr& e);

// A whole number from `least` on, written in a formula; `what` names it in the message.
int whole_number(const Expr& e, const char* what, int least);

}  // namespace kernops
