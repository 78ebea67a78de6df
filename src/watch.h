// Interrupts and progress, while C++ computes.
#pragma once
#include "border.h"
#include "formula/limits.h"

// Asked often, looks at R ten times a second.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress);

// Those of a call, which interrupts end.
kernops::Settings settings_for(const std::string& isa, int threads);

// For the time of a call that compiles a formula: most of the stack that R has left, until the user interrupts.
kernops::Granted granted_by_r();
