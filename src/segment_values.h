// Values of segments in R, and the operation on them.
#pragma once
#include "border.h"
#include "order/order_statistics.h"
#include "segments/segments.h"

namespace kernops {

// The values of a vector or matrix of R, or of a gpu_matrix.
SegmentValues read_values(SEXP x, Count rows, Count columns);
MemorySpace space_of(const SegmentValues& values);
Count rows_of(SEXP x);  // number of rows; a vector is one column
Count columns_of(SEXP x);

// `operation` is a list of segment_operation() in R, which must outlive the request.
void read_operation(const Rcpp::List& operation, SegmentRequest& request);

// `how` is a list, which must outlive the request: op (a row of order_statistics.def from 0), probs, type, nth, empty
// and na.rm.
void read_order(const Rcpp::List& how, OrderRequest& request);

}  // namespace kernops
