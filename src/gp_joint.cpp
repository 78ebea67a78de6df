// Joint predictions of R/solve_joint.R.
#include "border.h"
#include "neighbours/new_points.h"
#include "settings.h"

using namespace kernops;
using neighbours::NewPoints;

namespace {

NewPoints new_points_of(const Rcpp::NumericMatrix& weights, const Rcpp::NumericVector& sd,
                        const Rcpp::IntegerMatrix& near, Count base) {
  const NewPoints points{base, near.ncol(), near.nrow(), weights.begin(), sd.begin(), near.begin()};
  if (weights.size() != near.size() || sd.size() != points.count)
    throw InputError("dim", "each neighbour has a weight, and each point a standard deviation");
  if (!points.in_order()) throw InputError("input", "neighbours are base points or earlier new points");
  return points;
}

}  // namespace

// The values of new points, a row each, from those of base points, and from errors unless there are no columns of
// these.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix joint_predict(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix near,
                                  Rcpp::NumericMatrix base, Rcpp::NumericMatrix errors, int threads) {
  return guard_new([&] {
    const NewPoints points = new_points_of(weights, sd, near, base.nrow());
    if (errors.ncol() && (errors.ncol() != base.ncol() || errors.nrow() != points.count))
      throw InputError("dim", "each new value has an error");
    Rcpp::NumericMatrix out = zeros(int(points.count), base.ncol());
    points.predict(base.begin(), errors.ncol() ? errors.begin() : nullptr, base.ncol(), out.begin(),
                   with_threads(threads));
    return out;
  });
}

// The variances of all new points given `base` base points.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector joint_variances(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix near,
                                    int base, int threads) {
  return guard_new([&] {
    const NewPoints points = new_points_of(weights, sd, near, base);
    Rcpp::NumericVector out = zeros(double(points.count));
    points.variances(with_threads(threads), out.begin());
    return out;
  });
}

// The variances of weighted sums of new points: `sums` has a matrix `points`, whose columns have the numbers of the
// points of a sum, and a matrix `weights`. With `parts`, a column for each sum, whose inner products are the
// covariances of sums.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector joint_sums(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix near, int base,
                               Rcpp::List sums, bool parts, int threads) {
  return guard_new([&]() -> Rcpp::NumericVector {
    const Rcpp::IntegerMatrix which = sums["points"];
    const Rcpp::NumericMatrix weights_of_points = sums["weights"];
    const NewPoints points = new_points_of(weights, sd, near, base);
    if (which.size() != weights_of_points.size()) throw InputError("dim", "each point of a sum has a weight");
    for (const int at : which)
      if (at < 0 || at > points.count) throw InputError("input", "sums are of new points");
    Rcpp::NumericVector out = zeros(double(which.ncol()));
    Rcpp::NumericMatrix columns = zeros(int(points.count), parts ? which.ncol() : 0);
    points.sum_points({which.begin(), which.ncol(), which.nrow()}, weights_of_points.begin(), with_threads(threads),
                      out.begin(), parts ? columns.begin() : nullptr);
    return parts ? Rcpp::NumericVector(columns) : out;
  });
}
