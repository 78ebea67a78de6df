// Common parts of the functions that plan segments.
#pragma once
#include <memory>

#include "border.h"
#include "segments/segments.h"

namespace kernops {

// Returns a list that describes the segments and contains them as an R object.
Rcpp::List described(std::unique_ptr<Segments> segments);
Rcpp::List held(std::unique_ptr<Segments> segments, const Rcpp::List& about);

}  // namespace kernops
