// Interrupts and progress reports of computations in C++.
#pragma once
#include "border.h"
#include "formula/limits.h"

// Returns a function that long computations call often; it checks for interrupts, and reports progress, ten times a
// second.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress);

// Lets the compilation of a formula use most of the stack that R has left, and stop if the user interrupts.
kernops::Granted granted_by_r();

// Returns the result of body(), which compiles `formula`; the messages of errors show this formula.
template <class F> auto compile_formula(const std::string& formula, F body) -> decltype(body()) {
  const kernops::Granted granted = granted_by_r();
  try {
    return body();
  } catch (kernops::FormulaError& error) {
    if (error.text.empty()) error.text = formula;
    throw;
  }
}
