// The R interface of seg_reduce(), seg_softmax() and seg_grad().
#include <climits>
#include <cmath>

#include "result.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

namespace {

// Makes the request for the values x, which are an R vector or matrix or a gpu_matrix. The device of a gpu_matrix
// becomes current.
SegmentRequest request_for(Segments& all, SEXP x, const Rcpp::List& operation, const Rcpp::List& settings) {
  Settings wanted = read_settings(settings);
  if (is_gpu_matrix(x)) wanted.devices = {gpu_matrix(x).device};
  SegmentRequest request{all.on(wanted.devices[0])};
  request.columns = columns_of(x);
  request.x = read_values(x, all.values, request.columns);
  read_operation(operation, request);
  request.settings = std::move(wanted);
  return request;
}

}  // namespace

// The results of a reduction as doubles. Segments vary fastest, then columns, then outputs; a softmax or a scan has a
// result for each value instead of each segment. A result that stays on the GPU is a gpu_matrix.
// [[Rcpp::export(rng = false)]]
SEXP seg_run(Rcpp::XPtr<kernops::Segments> segments, SEXP x, Rcpp::List operation, bool skip_missing, SEXP weights,
             Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    SegmentRequest request = request_for(*segments, x, operation, settings);
    request.skip_missing = skip_missing;
    const bool stay = request.settings.stay;
    if (!Rf_isNull(weights)) request.weights = read_values(weights, request.segments.values, 1);
    request.weights.column = 0;  // all columns of x have the same weights
    const Backend& chosen = choose_backend(request.settings.backend, {space_of(request.x)}, 0);
    check_stays(stay, chosen);
    // if there is one column with one output, one pass on the GPU both finds the segments and reduces the values
    const SEXP into = settings["into"];
    const bool together = Rf_isNull(into) && !request.segments.known() && request.columns == 1 &&
                          request.outputs() == 1 && request.x.on_device;
    // the CPU can reduce groups without counting their values, unless there is a result for each value: the size of
    // such a result depends on the number of values that have a group
    const bool by_groups = request.segments.groups && &chosen == &cpu_backend() && !request.by_value();
    if (!together && !by_groups) request.segments.find();
    const Count rows = together ? request.segments.values : request.rows();
    Result result(stay || together, request.settings.devices[0], rows, request.columns * request.outputs(),
                  stay && request.by_value() && request.x.type == SegmentValues::floats, into);
    request.out = result.output();
    if (request.by_value() && !stay && request.segments.covered < rows) result.fill(NA_REAL);
    chosen.segments(request);
    if (together && !request.by_value()) result.keep_rows(request.segments.count);
    return result.give(stay);
  });
}

// The gradient with respect to each value, in the order of x if `in_place`, otherwise in the order of the segments.
// `eta` has a number for each segment and column or, for a softmax, for each value.
// [[Rcpp::export(rng = false)]]
SEXP seg_gradient(Rcpp::XPtr<kernops::Segments> segments, SEXP x, SEXP eta, Rcpp::List operation, bool in_place,
                  Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    SegmentGradient request(request_for(*segments, x, operation, settings));
    const bool stay = request.settings.stay;
    request.segments.find();
    request.in_place = in_place;
    const Backend& chosen = choose_backend(request.settings.backend, {space_of(request.x)}, 0);
    check_stays(stay, chosen);
    const Count rows = request.softmax ? request.segments.values : request.segments.count;
    const Operand incoming(eta, chosen, request.settings.devices[0]);
    (request.softmax ? request.weights : request.incoming) = read_values(incoming.values(), rows, request.columns);
    Result result(stay, request.settings.devices[0], in_place ? request.segments.values : request.segments.covered,
                  request.columns, request.x.type == SegmentValues::floats, settings["into"]);
    request.out = result.output();
    chosen.segment_gradient(request);
    return result.give(stay);
  });
}

// Converts results to an R integer vector, with NA for NaN; returns NULL if a result is not in the range of R's
// integers.
// [[Rcpp::export(rng = false)]]
SEXP seg_as_integers(Rcpp::NumericVector results) {
  return guard_new([&]() -> SEXP {
    Rcpp::IntegerVector whole = new_integers(double(results.size()));
    for (R_xlen_t n = 0; n < results.size(); ++n) {
      const double value = results[n];
      if (std::abs(value) > INT_MAX || std::floor(value) < value) return R_NilValue;
      whole[n] = ISNAN(value) ? NA_INTEGER : int(value);
    }
    return whole;
  });
}
