// Values of segments as R holds them.
#pragma once
#include "border.h"
#include "segments/segments.h"

// Of a vector or matrix of R, or a gpu_matrix.
kernops::SegmentValues read_values(SEXP x, kernops::Count rows, kernops::Count columns);
