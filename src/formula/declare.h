// The variables of a formula.
#pragma once
#include "formula/parse.h"
#include "formula/program.h"

namespace kernops {

// The variables of declarations such as "x = Vi(3)", and of Var(position, size, category) in the formula.
std::vector<Variable> declare(const std::vector<std::string>& declarations, const Expr& formula);

// Throws where one of them does not occur in the formula.
void check_used(const std::vector<Variable>& variables, const Expr& formula);

// A whole number from `least` on, written in a formula; `what` names it in the message.
int whole_number(const Expr& e, const char* what, int least);

}  // namespace kernops
