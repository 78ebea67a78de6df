// Finds the variables of a formula.
#pragma once
#include "formula/parse.h"
#include "formula/program.h"

namespace kernops {

// Returns the variables of declarations such as "x = Vi(3)", and of Var(position, size, category) in the formula.
std::vector<Variable> declare(const std::vector<std::string>& declarations, const Expr& formula);

// Returns the names of declared variables that do not occur in the formula.
std::vector<std::string> unused_variables(const std::vector<Variable>& variables, const Expr& formula);

// True for a variable that the formula itself declares: Var(position, size, category), or Vi(position, size), or Vj or
// Pm with the same arguments.
bool is_inline_variable(const Expr& e);

// Returns a whole number that is written in a formula. The number must be at least `least`; `what` describes the number
// in error messages.
int whole_number(const Expr& e, const char* what, int least);

}  // namespace kernops
