// Interrupts and progress, while C++ computes.
#pragma once
#include "border.h"

// Asked often, looks at R ten times a second.
std::function<bool(double)> watch(Rcpp::Nullable<Rcpp::Function> progress);
