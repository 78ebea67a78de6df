// The data of conditioning sets that R keeps between evaluations of a likelihood, as requests for the engine.
#pragma once
#include "block.h"
#include "sets/sets.h"

namespace kernops {

// Points, their sets, and the copies on a GPU.
struct HeldSets {
  Rcpp::NumericMatrix points;
  Rcpp::NumericVector noise, noise_slope;
  Rcpp::NumericMatrix values;
  Rcpp::IntegerMatrix neighbours;
  std::shared_ptr<BackendCache> kept;
  Rcpp::NumericMatrix factors;  // rank x points, factors of a low-rank part of the covariance; 0 rows if there is none
};

// `operators` contains `values`, the covariance, and optionally `derivatives` with respect to theta.
SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, const Rcpp::NumericMatrix& points,
                      const Rcpp::NumericVector& noise, const Rcpp::IntegerMatrix& neighbours,
                      const Rcpp::List& settings);

// The request for stored sets, with at most `count` neighbours. `nugget` is the number of the parameter that multiplies
// the slopes of the noise, or 0.
SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, int nugget, const HeldSets& sets,
                      double count, const Rcpp::List& settings);

}  // namespace kernops
