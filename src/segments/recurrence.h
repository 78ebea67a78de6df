// Linear recurrences within segments.
#pragma once
#include "segments/segments.h"

namespace kernops {

// out_n = x_n + factor_n * the previous result (or, if `reverse`, the next result) in the segment of n. One column on
// the host; results of rows outside all segments stay unchanged.
void recur_in_segments(const Segments& segments, const double* x, const double* factor, bool reverse, double* out);

}  // namespace kernops
