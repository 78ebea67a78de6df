// Order statistics, sorting, ranks and the largest values of segments, seen from R.
#include "order/order_statistics.h"
#include "order/sort.h"
#include "result.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

// The rows of order_statistics.def.
// [[Rcpp::export(rng = false)]]
Rcpp::DataFrame seg_order_table() {
  Rcpp::CharacterVector name, meaning;
  Rcpp::LogicalVector weights, gradient;
  for (const OrderStatistic& row : order_statistics()) {
    name.push_back(row.name), meaning.push_back(row.meaning);
    weights.push_back(row.weights), gradient.push_back(row.gradient);
  }
  return Rcpp::DataFrame::create(Rcpp::_["name"] = name, Rcpp::_["meaning"] = meaning, Rcpp::_["weights"] = weights,
                                 Rcpp::_["gradient"] = gradient, Rcpp::_["stringsAsFactors"] = false);
}

// `how` has the elements that read_order() reads.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector seg_order_statistic(Rcpp::XPtr<kernops::Segments> segments, SEXP x, SEXP weights, Rcpp::List how,
                                        Rcpp::List settings) {
  return guard_new([&] {
    OrderRequest request{*segments};
    read_order(how, request);
    request.columns = columns_of(x), request.x = read_values(x, segments->values, request.columns);
    request.weights = Rf_isNull(weights) ? nullptr : REAL(weights);
    request.settings = read_settings(settings);
    const Rcpp::NumericVector out =
        new_numbers(double(segments->count) * double(request.columns) * double(request.outputs()));
    request.out = const_cast<double*>(out.begin());
    reduce_in_order(request);
    return out;
  });
}

namespace {

SortRequest sort_request(Segments& segments, SEXP x, const Rcpp::List& how, const Rcpp::List& settings) {
  SortRequest request{segments};
  request.columns = columns_of(x);
  request.x = read_values(x, segments.values, request.columns);
  request.decreasing = how["decreasing"];
  const std::string missing = how["missing"];
  request.missing_last = missing != "first", request.keep_missing = missing == "keep";
  request.ties = SortRequest::Ties(int(how["ties"]));
  request.settings = read_settings(settings);
  return request;
}

}  // namespace

// The values of each segment in order, of R or as a gpu_matrix.
// [[Rcpp::export(rng = false)]]
SEXP seg_sort_values(Rcpp::XPtr<kernops::Segments> segments, SEXP x, Rcpp::List how, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const int device = is_gpu_matrix(x) ? gpu_matrix(x).device : read_settings(settings).devices[0];
    SortRequest request = sort_request(segments->on(device), x, how, settings);
    request.settings.devices = {device}, request.segments.find();
    const bool stay = request.settings.stay;
    const Backend& chosen = choose_backend(request.settings.backend, {space_of(request.x)}, 0);
    check_stays(stay, chosen);
    Result result(stay, device, request.segments.values, request.columns,
                  stay && request.x.type == SegmentValues::floats);
    request.out = result.output();
    if (!stay && request.segments.covered < request.segments.values) result.fill(NA_REAL);
    chosen.sort(request);
    return result.give(stay);
  });
}

// `what` is "rank" or "order". `how` has decreasing, missing ("first", "last" or "keep") and ties (from 0).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector seg_sorted(Rcpp::XPtr<kernops::Segments> segments, SEXP x, std::string what, Rcpp::List how,
                               Rcpp::List settings) {
  return guard_new([&] {
    const SortRequest request = sort_request(*segments, x, how, settings);
    const Count rows = what == "order" ? segments->covered : segments->values;
    const Rcpp::NumericVector result = new_numbers(double(rows) * double(request.columns));
    double* const out = const_cast<double*>(result.begin());
    if (segments->covered < segments->values) std::fill(out, out + result.size(), NA_REAL);
    what == "rank" ? rank_segments(request, out) : order_segments(request, out);
    return result;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List seg_top_values(Rcpp::XPtr<kernops::Segments> segments, SEXP x, double k, Rcpp::List how,
                          Rcpp::List settings) {
  return guard_new([&] {
    const SortRequest request = sort_request(*segments, x, how, settings);
    const double size = k * double(request.columns) * double(segments->count);
    const Rcpp::NumericVector values = new_numbers(size), places = new_numbers(size);
    top_of_segments(request, Count(k), const_cast<double*>(values.begin()), const_cast<double*>(places.begin()));
    return named_list({{"values", values}, {"positions", places}});
  });
}
