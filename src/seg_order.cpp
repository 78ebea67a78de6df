// The R interface of order statistics, sorting, ranking and selection of the largest values within segments.
#include "order/order_statistics.h"
#include "order/sort.h"
#include "result.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

// The rows of order_statistics.def, as a data frame.
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

namespace {

// Sets the values of a request, which are in R or on a device, and returns the backend that can read their memory.
template <class Request> const Backend& read_request(Request& request, SEXP x, Settings settings) {
  if (is_gpu_matrix(x)) settings.devices = {gpu_matrix(x).device};
  request.columns = columns_of(x);
  request.x = read_values(x, request.segments.values, request.columns);
  request.segments.find();
  const Backend& chosen = choose_backend(settings.backend, {space_of(request.x)}, 0);
  check_stays(settings.stay, chosen);
  if (&chosen == &cpu_backend()) request.segments.come_to_host();
  request.settings = std::move(settings);
  return chosen;
}

int device_of(SEXP x, const Settings& settings) {
  return is_gpu_matrix(x) ? gpu_matrix(x).device : settings.devices[0];
}

}  // namespace

// `how` has the elements that read_order() reads. The results are an R vector or a gpu_matrix.
// [[Rcpp::export(rng = false)]]
SEXP seg_order_statistic(Rcpp::XPtr<kernops::Segments> segments, SEXP x, SEXP weights, Rcpp::List how,
                         Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const Settings wanted = read_settings(settings);
    const int device = device_of(x, wanted);
    OrderRequest request{segments->on(device)};
    const Backend& chosen = read_request(request, x, wanted);
    read_order(how, request);
    request.weights = Rf_isNull(weights) ? nullptr : REAL(weights);
    Result result(wanted.stay, device, request.segments.count, request.columns * request.outputs(), false,
                  settings["into"]);
    request.out = result.output();
    chosen.order_statistics(request);
    return result.give(wanted.stay);
  });
}

// The gradient of sum(eta * statistics) with respect to x, in the precision of x. `how` has two additional elements,
// `decreasing` and `following`. If the statistic is the nth value, `eta` has numbers for `following` values, from the
// nth value on. `eta` has a number for each segment, column and result, in the layout of the statistics.
// [[Rcpp::export(rng = false)]]
SEXP seg_order_gradient(Rcpp::XPtr<kernops::Segments> segments, SEXP x, SEXP eta, Rcpp::List how, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const Settings wanted = read_settings(settings);
    const int device = device_of(x, wanted);
    OrderRequest request{segments->on(device)};
    const Backend& chosen = read_request(request, x, wanted);
    read_order(how, request);
    request.decreasing = how["decreasing"], request.following = Count(Rcpp::as<double>(how["following"]));
    const Operand incoming(eta, chosen, device);
    const SEXP numbers = incoming.values();
    request.incoming = read_values(numbers, rows_of(numbers), columns_of(numbers));
    const bool single = wanted.stay && request.x.type == SegmentValues::floats;
    Result result(wanted.stay, device, request.segments.values, request.columns, single, settings["into"]);
    request.out = result.output();
    chosen.order_statistics(request);
    return result.give(wanted.stay);
  });
}

// `how` has the elements result ("values", "rows", "ranks" or "first"), decreasing, missing ("first", "last" or
// "keep"), ties (a number from 0) and top. The result is an R vector, or a gpu_matrix; sorted values have the precision
// of x.
// [[Rcpp::export(rng = false)]]
SEXP seg_sorted(Rcpp::XPtr<kernops::Segments> segments, SEXP x, Rcpp::List how, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const Settings options = read_settings(settings);
    const int device = device_of(x, options);
    SortRequest request{segments->on(device)};
    const Backend& chosen = read_request(request, x, options);
    request.result = SortRequest::Result(int(how["result"])), request.decreasing = how["decreasing"];
    const std::string missing = how["missing"];
    request.missing_last = missing != "first", request.keep_missing = missing == "keep";
    request.ties = SortRequest::Ties(int(how["ties"])), request.top = Count(Rcpp::as<double>(how["top"]));
    const bool single = request.result == SortRequest::values && request.x.type == SegmentValues::floats;
    Result result(options.stay, device, request.result_rows(), request.columns * request.outputs(),
                  options.stay && single, settings["into"]);
    request.out = result.output();
    if (!options.stay && request.segments.covered < request.segments.values) result.fill(NA_REAL);
    chosen.sort(request);
    return result.give(options.stay);
  });
}
