// The R interface of linear recurrences within segments.
#include "segments/recurrence.h"

#include "segment_values.h"

using namespace kernops;

// `x` and `factor` have the same shape. Results are 0 for values outside all segments.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix seg_recurrence(Rcpp::XPtr<kernops::Segments> segments, Rcpp::NumericMatrix x,
                                   Rcpp::NumericMatrix factor, bool reverse) {
  return guard_new([&] {
    Rcpp::NumericMatrix out = zeros(x.nrow(), x.ncol());
    for (int k = 0; k < x.ncol(); ++k) {
      const Count first = Count(k) * x.nrow();
      recur_in_segments(*segments, x.begin() + first, factor.begin() + first, reverse, out.begin() + first);
    }
    return out;
  });
}
