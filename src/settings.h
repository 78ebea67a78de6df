// The settings of a computation, as run_settings() of R/settings.R lists them.
#pragma once
#include <Rcpp/Lightest>

#include "run/data.h"

namespace kernops {

// Absent settings have the defaults of Settings; the user can interrupt.
Settings read_settings(const Rcpp::List& settings);
Settings with_threads(int threads);  // of computations in float64 on the CPU that use no instruction set

}  // namespace kernops
