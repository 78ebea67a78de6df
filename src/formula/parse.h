// The text of a formula -> syntax.
#pragma once
#include <string>
#include <vector>

#include "run/errors.h"

namespace kernops {

// A FormulaError of make(), possibly in the text of a table, receives this byte of the user's text as its position.
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
