// The settings of a computation, as listed by run_settings() of R/settings.R.
#pragma once
#include <Rcpp/Lightest>

#include "run/data.h"

namespace kernops {

// Reads the settings; absent settings have the defaults of Settings. The user can interrupt.
Settings read_settings(const Rcpp::List& settings);
Settings with_threads(int threads);  // for float64 computations on the CPU that do not depend on the instruction set

}  // namespace kernops
