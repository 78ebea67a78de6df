// Values of segments as R holds them.
#pragma once
#include "border.h"
#include "segments.h"

// Of a vector or matrix of R, or a gpu_matrix.
kernops::SegmentValues read_values(SEXP x, kernops::Count rows, kernops::Count columns);
// NaN becomes NA where one of the values was NA; both of the host.
void mark_missing(const kernops::SegmentRequest& request, int outputs);
