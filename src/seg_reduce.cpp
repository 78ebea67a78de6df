// seg_reduce() seen from R.
#include <climits>
#include <cmath>

#include "segments/missing.h"
#include "segment_values.h"
#include "watch.h"

using namespace kernops;

// Results as doubles: segment by segment, column by column, output by output. Of a softmax, one for each
// value.
// [[Rcpp::export]]
SEXP seg_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, double columns, int op, SEXP formula, bool softmax,
             Rcpp::Nullable<double> empty, bool skip_missing, SEXP weights, int threads, std::string isa,
             Rcpp::Nullable<Rcpp::Function> progress, double tile) {
  return guard([&]() -> SEXP {
    segments->come_to_host();
    SegmentRequest request{*segments};
    request.op = op;
    if (!Rf_isNull(formula)) request.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
    request.softmax = softmax, request.skip_missing = skip_missing;
    const double value = empty.isNotNull() ? Rcpp::as<double>(empty.get()) : 0;
    if (empty.isNotNull()) request.empty = &value;
    request.columns = Count(columns);
    request.x = read_values(x, segments->values, request.columns);
    if (!Rf_isNull(weights)) request.weights = read_values(weights, segments->values, 1);
    request.weights.column = 0;  // the same for all columns
    request.settings.threads = threads, request.settings.isa = isa, request.settings.keep_going = watch(progress);
    request.tile = Count(tile);
    const int outputs = softmax || request.formula ? 1 : segment_ops()[op].outputs;
    const Count rows = softmax ? segments->values : segments->count;
    Rcpp::NumericVector out = new_numbers(double(rows) * columns * outputs);
    const bool covered = segments->covered == segments->values;
    if (softmax && !covered) std::fill(out.begin(), out.end(), NA_REAL);
    request.out = {out.begin(), rows, 1};
    cpu::seg_reduce(request);
    mark_missing(request);
    return out;
  });
}

// Results as integers, NA for NaN; NULL where one of them is no integer of R.
// [[Rcpp::export]]
SEXP seg_as_integers(Rcpp::NumericVector results) {
  return guard([&]() -> SEXP {
    Rcpp::IntegerVector whole = new_integers(double(results.size()));
    for (R_xlen_t n = 0; n < results.size(); ++n) {
      const double value = results[n];
      if (std::abs(value) > INT_MAX || std::floor(value) < value) return R_NilValue;
      whole[n] = ISNAN(value) ? NA_INTEGER : int(value);
    }
    return whole;
  });
}
