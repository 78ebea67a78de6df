// Common parts of the functions that plan segments.
#pragma once
#include <memory>

#include "border.h"
#include "segments/segments.h"

namespace kernops {

// The segments as an R object, and a list that describes them.
Rcpp::List described(std::unique_ptr<Segments> segments);
Rcpp::List held(std::unique_ptr<Segments> segments, const Rcpp::List& about);

}  // namespace kernops
