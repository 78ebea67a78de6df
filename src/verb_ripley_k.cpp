// Second-order sums of a pattern of points, for R/verb_ripley_k.R.
#include "neighbours/pattern.h"
#include "stored_points.h"

using namespace kernops;

namespace {

neighbours::EdgeCorrection correction_of(const std::string& name) {
  if (name == "translation") return neighbours::EdgeCorrection::translation;
  return name == "isotropic" ? neighbours::EdgeCorrection::isotropic : neighbours::EdgeCorrection::none;
}

}  // namespace

// For each of the ascending distances `r`, the sum of the weights (edge corrections) of the pairs of a stored point and
// a row of `query` (or, if `query` is NULL, another stored point). Without a `bandwidth`, pairs with a distance of at
// most r are counted; with a bandwidth, pairs with a distance near r. The columns of `window` are the ranges of the two
// coordinates.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector points_pattern(SEXP stored, Rcpp::Nullable<Rcpp::NumericMatrix> query, Rcpp::NumericVector r,
                                   Rcpp::NumericMatrix window, std::string correction, double bandwidth, int threads) {
  return guard_new([&] {
    const Settings settings = with_threads(threads);
    Rcpp::NumericVector sums = new_numbers(double(r.size()));
    at_scale_of(stored, query, settings, [&](StoredPoints& points) {
      const TreeQueries queries(points, query, settings);
      const double unit = points.unit;
      std::vector<double> scaled(r.begin(), r.end());
      for (double& one : scaled) one *= unit;
      const neighbours::Rectangle rectangle{{unit * window(0, 0), unit * window(0, 1)},
                                            {unit * window(1, 0), unit * window(1, 1)}};
      const std::vector<double> found =
          neighbours::pattern_sums({points.tree, query.isNull() ? nullptr : queries.data(), queries.count(), scaled,
                                    correction_of(correction), rectangle, unit * bandwidth},
                                   settings);
      for (size_t k = 0; k < found.size(); ++k) sums[R_xlen_t(k)] = (bandwidth > 0 ? unit : 1) * found[k];
    });
    return sums;
  });
}
