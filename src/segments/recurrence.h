// Linear recurrences within segments.
#pragma once
#include "segments/segments.h"

namespace kernops {

// Computes out_n = x_n + factor_n * (the previous result in the segment of n or, if `reverse`, the next result). The
// arrays have one column and are on the host. Results of rows outside all segments are not written.
void recur_in_segments(const Segments& segments, const double* x, const double* factor, bool reverse, double* out);

}  // namespace kernops
