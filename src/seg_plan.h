// Common parts of the functions that plan segments.
#pragma once
#include <memory>

#include "border.h"
#include "segments/segments.h"

namespace kernops {

// The segments as R holds them, and what print() says of them.
Rcpp::List described(std::unique_ptr<Segments> segments);

}  // namespace kernops
