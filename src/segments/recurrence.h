// Linear recurrences within segments.
#pragma once
#include "segments/segments.h"

namespace kernops {

// out_n = x_n + factor_n * the result before in the segment of n, or, if `reverse`, after it. One column of the host;
// results of rows in no segment stay as they are.
void recur_in_segments(const Segments& segments, const double* x, const double* factor, bool reverse, double* out);

}  // namespace kernops
