// The settings of a computation, as listed by run_settings() of R/settings.R.
#pragma once
#include <Rcpp/Lightest>

#include "run/data.h"

namespace kernops {

// Absent settings have the defaults of Settings; the user can interrupt.
Settings read_settings(const Rcpp::List& settings);
Settings with_threads(int threads);  // of computations in float64 on the CPU that do not depend on the instruction set

}  // namespace kernops
