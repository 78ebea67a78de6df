// The text of a formula -> syntax.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace kernops {

// A mistake in the user's text: what is wrong, and the byte of the text it is at (-1 for none).
struct FormulaError : std::runtime_error {
  FormulaError(const std::string& message, int position, const std::string& unknown = "")
      : std::runtime_error(message), position(position), unknown(unknown) {}
  int position;
  std::string unknown;  // the name that nobody knows, for a suggestion
  std::string text;     // the text it is in, where that is not the formula
};

// What goes wrong in make(), maybe in the text of a table, is shown at this byte of the user's text.
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
