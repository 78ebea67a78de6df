// seg_reduce() seen from R.
#include "gpu_matrix.h"
#include "segments.h"
#include "watch.h"

using namespace kernops;

namespace {

SegmentValues read_values(SEXP x, Count rows) {
  SegmentValues values;
  values.row = 1, values.column = rows;
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    values.type = matrix.single ? SegmentValues::floats : SegmentValues::doubles;
    values.on_device = true, values.data = matrix.memory.address();
  } else if (TYPEOF(x) == REALSXP) {
    values.data = REAL(x);
  } else {
    values.type = SegmentValues::integers, values.data = INTEGER(x);
  }
  return values;
}

// NaN becomes NA where one of the values was NA.
void mark_missing(const SegmentRequest& request, int outputs, const Rcpp::NumericVector& out) {
  const Segments& segments = request.segments;
  if (request.skip_missing || request.x.on_device || request.softmax) return;
  const auto result = [&](int o, Count column, Count row) -> double& {
    return request.out.data[(o * request.columns + column) * request.out.entry + row * request.out.row];
  };
  const auto is_nan = [](double value) { return value != value; };
  const auto missing = [&](Count column, Count row) {
    const Count at = column * request.x.column + row * request.x.row;
    return request.x.type == SegmentValues::integers
               ? static_cast<const int*>(request.x.data)[at] == NA_INTEGER
               : bool(R_IsNA(static_cast<const double*>(request.x.data)[at]));
  };
  for (Count column = 0; column < request.columns; ++column) {
    bool any = false;
    for (int o = 0; o < outputs; ++o) {
      const double* results = &result(o, column, 0);
      for (Count row = 0; row < segments.count; ++row) any |= is_nan(results[row]);
    }
    if (!any) continue;
    const auto mark = [&](Count row, Count value) {
      if (!missing(column, value)) return;
      for (int o = 0; o < outputs; ++o)
        if (is_nan(result(o, column, row))) result(o, column, row) = NA_REAL;
    };
    if (segments.groups) {
      for (Count n = 0; n < segments.values; ++n)
        if (segments.groups[n] >= 0) mark(segments.groups[n], n);
      continue;
    }
    for (Count s = 0; s < segments.segments(); ++s) {
      const Count row = segments.row(s), begin = segments.offsets[s];
      if (!is_nan(result(0, column, row))) continue;
      const Count from = segments.sources.empty() ? begin : segments.sources[s];
      for (Count k = 0; k < segments.offsets[s + 1] - begin; ++k) mark(row, from + k);
    }
  }
}

}  // namespace

// Results as doubles: segment by segment, column by column, output by output. Of a softmax, one for each
// value.
// [[Rcpp::export]]
SEXP seg_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, double columns, int op, SEXP formula,
             bool softmax, Rcpp::Nullable<double> empty, bool skip_missing, SEXP weights,
             bool cuda, int device, int threads, std::string isa, Rcpp::Nullable<Rcpp::Function> progress,
             double tile) {
  return guard([&]() -> SEXP {
    SegmentRequest request{*segments};
    request.op = op;
    if (!Rf_isNull(formula)) request.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
    request.softmax = softmax, request.skip_missing = skip_missing;
    const double value = empty.isNotNull() ? Rcpp::as<double>(empty.get()) : 0;
    if (empty.isNotNull()) request.empty = &value;
    request.columns = Count(columns);
    if (!is_gpu_matrix(x) && Count(Rf_xlength(x)) != segments->values * request.columns)
      throw InputError("dim", "the plan is for " + std::to_string(segments->values) + " values.");
    request.x = read_values(x, segments->values);
    if (!Rf_isNull(weights)) request.weights = read_values(weights, segments->values);
    request.settings.threads = threads, request.settings.isa = isa,
    request.settings.keep_going = watch(progress);
    request.tile = Count(tile);
    request.device = is_gpu_matrix(x) ? gpu_matrix(x).device : device;
    const int outputs = softmax || request.formula ? 1 : segment_ops()[op].outputs;
    const Count rows = softmax ? segments->values : segments->count;
    Rcpp::NumericVector out(Rcpp::no_init(R_xlen_t(rows) * R_xlen_t(columns) * outputs));
    const bool covered = segments->offsets.back() - segments->offsets.front() == segments->values;
    if (softmax && !covered) std::fill(out.begin(), out.end(), NA_REAL);
    request.out = {out.begin(), rows, 1};
    cuda || request.x.on_device ? cuda::seg_reduce(request) : cpu::seg_reduce(request);
    mark_missing(request, outputs, out);
    return out;
  });
}
