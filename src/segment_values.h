// Reads the values of segments, and the operation that reduces them, from R.
#pragma once
#include "border.h"
#include "order/order_statistics.h"
#include "segments/segments.h"

namespace kernops {

// The values of a vector or matrix of R, or of a gpu_matrix.
SegmentValues read_values(SEXP x, Count rows, Count columns);
MemorySpace space_of(const SegmentValues& values);
Count rows_of(SEXP x);  // a vector is one column
Count columns_of(SEXP x);

// `operation` is a list made by segment_operation() in R; it must outlive the request.
void read_operation(const Rcpp::List& operation, SegmentRequest& request);

// `how` is a list that must outlive the request. The elements of the list are op (a row of order_statistics.def, from
// 0), probs, type, nth, empty and na.rm.
void read_order(const Rcpp::List& how, OrderRequest& request);

}  // namespace kernops
