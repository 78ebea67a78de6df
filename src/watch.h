// Interrupts and progress during computations in C++.
#pragma once
#include "border.h"
#include "formula/limits.h"

// Called often; checks R ten times a second.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress);

// Grants most of the stack that R has left to a call that compiles a formula, until the user interrupts.
kernops::Granted granted_by_r();

// Returns the result of body(), which compiles a formula; error messages show this formula.
template <class F> auto compile_formula(const std::string& formula, F body) -> decltype(body()) {
  const kernops::Granted granted = granted_by_r();
  try {
    return body();
  } catch (kernops::FormulaError& error) {
    if (error.text.empty()) error.text = formula;
    throw;
  }
}
