// Sets of points of R/gp_vecchia.R, as the engine conditions them.
#include "sets/sets.h"

#include "watch.h"

using namespace kernops;

namespace {

SetRequest request_of(const Rcpp::XPtr<Kernel>& covariance, const Rcpp::NumericVector& theta,
                      const Rcpp::NumericMatrix& points, const Rcpp::NumericVector& noise,
                      const Rcpp::IntegerMatrix& neighbours) {
  const Count n = points.nrow(), sets = neighbours.ncol();
  if (noise.size() != n || sets > n) throw InputError("dim", "each point has a noise variance and at most one set");
  SetRequest request{};
  request.covariance = &*covariance, request.nugget = -1;
  request.theta = theta.begin(), request.parameters = int(theta.size());
  request.points = points.begin(), request.n = n, request.d = points.ncol(), request.noise = noise.begin();
  request.neighbours = neighbours.begin(), request.m = neighbours.nrow();
  request.first = n - sets, request.sets = sets;
  for (const int at : neighbours)
    if (at < 0 || at > n) throw InputError("input", "neighbours are numbers of points");
  return request;
}

Settings settings_of(const std::string& isa, int threads) {
  Settings settings;
  settings.isa = isa, settings.threads = threads, settings.keep_going = watch(R_NilValue);
  return settings;
}

}  // namespace

// The sums of jobs/sets.h over the sets of the last points, and the number of the first singular set, or 0. `slopes` may
// be NULL; `nugget` is the number of the parameter that multiplies `noise_slope`, or 0.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_sums(Rcpp::XPtr<kernops::Kernel> covariance, SEXP slopes, Rcpp::NumericVector theta, int nugget,
                     Rcpp::NumericMatrix points, Rcpp::NumericVector noise, Rcpp::NumericVector noise_slope,
                     Rcpp::NumericMatrix values, Rcpp::IntegerMatrix neighbours, std::string isa, int threads) {
  return guard([&] {
    SetRequest request = request_of(covariance, theta, points, noise, neighbours);
    if (values.nrow() != request.n || noise_slope.size() != request.n)
      throw InputError("dim", "each point has values and the slope of its noise");
    if (!Rf_isNull(slopes)) request.slopes = &*Rcpp::XPtr<Kernel>(slopes);
    request.nugget = nugget - 1, request.noise_slope = noise_slope.begin();
    request.values = values.begin(), request.columns = values.ncol();
    const SetTotals totals = cpu::set_sums(request, settings_of(isa, threads));
    return Rcpp::List::create(Rcpp::_["sums"] = Rcpp::NumericVector(totals.sums.begin(), totals.sums.end()),
                              Rcpp::_["bad"] = double(totals.bad + 1));
  });
}

// Of each of the last points given its neighbours: their weights in its conditional mean, and its conditional standard
// deviation.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_weights(Rcpp::XPtr<kernops::Kernel> covariance, Rcpp::NumericVector theta, Rcpp::NumericMatrix points,
                        Rcpp::NumericVector noise, Rcpp::IntegerMatrix neighbours, std::string isa, int threads) {
  return guard([&] {
    const SetRequest request = request_of(covariance, theta, points, noise, neighbours);
    Rcpp::NumericMatrix weights(neighbours.nrow(), neighbours.ncol());
    Rcpp::NumericVector sd(neighbours.ncol());
    cpu::set_weights(request, settings_of(isa, threads), weights.begin(), sd.begin());
    return Rcpp::List::create(Rcpp::_["weights"] = weights, Rcpp::_["sd"] = sd);
  });
}
