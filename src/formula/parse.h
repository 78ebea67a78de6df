// Parses the text of a formula.
#pragma once
#include <string>
#include <vector>

#include "run/errors.h"

namespace kernops {

// Returns the result of make(). If make() throws a FormulaError, even one within the text of a table such as ops.def,
// the error is reported at byte `position` of the user's formula.
template <class F> auto at(int position, F make) -> decltype(make()) {
  try {
    return make();
  } catch (FormulaError& error) {
    error.position = position;
    throw;
  }
}

struct Expr {
  enum Kind { number, name, call, list } kind = number;
  std::string text;
  double value = 0;
  std::vector<Expr> args;
  int position = 0, depth = 1;
};
Expr parse(const std::string& text);

}  // namespace kernops
