// The settings of a computation, as a list made by run_settings() of R/settings.R.
#pragma once
#include <Rcpp/Lightest>

#include "run/data.h"

namespace kernops {

// Reads a list of settings; missing elements have the defaults of Settings. The computation can be interrupted.
Settings read_settings(const Rcpp::List& settings);
Settings with_threads(int threads);  // settings for float64 results that are the same with each instruction set

}  // namespace kernops
