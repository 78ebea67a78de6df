// Joint predictions for R/solve_joint.R. The distribution of new points is given by a list: matrices `weights` and
// `neighbours` with one column per point, `sd`, the number `base` of base points, the `posterior` of the base points or
// NULL, and the number `total` of all new points. The columns may belong to only some of the new points.
#include "border.h"
#include "neighbours/new_points.h"
#include "settings.h"

using namespace kernops;
using neighbours::NewPoints;

namespace {

// The elements of a list that describes new points; the struct keeps the list's memory alive.
struct Joint {
  Joint(const Rcpp::List& sets, const Settings& settings)
      : weights(sets["weights"]), sd(sets["sd"]), near(sets["neighbours"]), posterior(sets["posterior"]) {
    points = {Rcpp::as<int>(sets["base"]), near.ncol(), near.nrow(), weights.begin(), sd.begin(), near.begin(), nullptr,
              Rcpp::as<int>(sets["total"])};
    if (!Rf_isNull(posterior)) points.posterior = Rcpp::XPtr<neighbours::Posterior>(posterior).get();
    if (points.posterior && points.posterior->length() != points.base)
      throw InputError("dim", "each base point has a posterior");
    if (weights.size() != near.size() || sd.size() != points.count)
      throw InputError("dim", "each neighbour has a weight, and each point a standard deviation");
    if (!points.in_order(settings)) throw InputError("input", "neighbours are base points or earlier new points");
  }
  const Rcpp::NumericMatrix weights;
  const Rcpp::NumericVector sd;
  const Rcpp::IntegerMatrix near;
  const Rcpp::RObject posterior;
  NewPoints points;
};

}  // namespace

// Computes the values of new points, one row each, from the values of base points: the value of a new point is the
// weighted sum of the values of its neighbours. If `errors` has columns, the product of the standard deviation and the
// error of the new point is added.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix joint_predict(Rcpp::List sets, Rcpp::NumericMatrix base, Rcpp::NumericMatrix errors, int threads) {
  return guard_new([&] {
    const Joint joint(sets, with_threads(threads));
    const NewPoints& points = joint.points;
    if (base.nrow() != points.base) throw InputError("dim", "each base point has a value");
    if (errors.ncol() && (errors.ncol() != base.ncol() || errors.nrow() != points.count))
      throw InputError("dim", "each new value has an error");
    Rcpp::NumericMatrix out = zeros(int(points.count), base.ncol());
    points.predict(base.begin(), errors.ncol() ? errors.begin() : nullptr, base.ncol(), out.begin(),
                   with_threads(threads));
    return out;
  });
}

// The variances of all new points, given the values of the base points or, if `posterior` is not NULL, given the data
// of this posterior.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector joint_variances(Rcpp::List sets, int threads) {
  return guard_new([&] {
    const Joint joint(sets, with_threads(threads));
    Rcpp::NumericVector out = zeros(double(joint.points.count));
    joint.points.variances(with_threads(threads), out.begin());
    return out;
  });
}

// The variances of weighted sums of new points. `sums` has two matrices with one column per sum: `points` has the
// numbers of the points that are summed, and `weights` their weights. If `parts` is true, the result is a matrix with
// one column per sum; the inner product of two columns is the covariance of two sums.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector joint_sums(Rcpp::List sets, Rcpp::List sums, bool parts, int threads) {
  return guard_new([&]() -> Rcpp::NumericVector {
    const Joint joint(sets, with_threads(threads));
    const NewPoints& points = joint.points;
    const Rcpp::IntegerMatrix which = sums["points"];
    const Rcpp::NumericMatrix weights = sums["weights"];
    if (which.size() != weights.size()) throw InputError("dim", "each point of a sum has a weight");
    for (const int at : which)
      if (at < 0 || at > points.count) throw InputError("input", "sums are of new points");
    Rcpp::NumericVector out = zeros(double(which.ncol()));
    Rcpp::NumericMatrix columns = zeros(int(points.part_size()), parts ? which.ncol() : 0);
    points.sum_points({which.begin(), which.ncol(), which.nrow()}, weights.begin(), with_threads(threads), out.begin(),
                      parts ? columns.begin() : nullptr);
    return parts ? Rcpp::NumericVector(columns) : out;
  });
}
