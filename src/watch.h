// Interrupts and progress during computations in C++.
#pragma once
#include "border.h"
#include "formula/limits.h"

// Called often; checks R ten times a second.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress);

// Active during a call that compiles a formula: grants most of the stack that R has left, until the user interrupts.
kernops::Granted granted_by_r();

// The result of body(), which compiles a formula; errors show this formula.
template <class F> auto compile_formula(const std::string& formula, F body) -> decltype(body()) {
  const kernops::Granted granted = granted_by_r();
  try {
    return body();
  } catch (kernops::FormulaError& error) {
    if (error.text.empty()) error.text = formula;
    throw;
  }
}
