// Parser: converts the text of a formula to syntax.
#pragma once
#include <string>
#include <vector>

#include "run/errors.h"

namespace kernops {

// Calls make(). If it throws a FormulaError, possibly in the text of a table, the error is reported at this byte of the
// user's text.
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
