// The data of conditioning sets that R keeps between evaluations of a likelihood, and their conversion to SetRequests.
#pragma once
#include "block.h"
#include "sets/sets.h"

namespace kernops {

// Points, their conditioning sets, and the copies of the points and the sets that a GPU keeps.
struct HeldSets {
  Rcpp::NumericMatrix points;
  Rcpp::NumericVector noise, noise_slope;
  Rcpp::NumericMatrix values;
  Rcpp::IntegerMatrix neighbours;
  std::shared_ptr<BackendCache> kept;
  Rcpp::NumericMatrix factors;  // low-rank factors, rank x points; no rows if the covariance has no low-rank part
};

// `operators` contains the kernel `values` of the covariance, and optionally the kernel `derivatives` of the covariance
// with respect to theta.
SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, const Rcpp::NumericMatrix& points,
                      const Rcpp::NumericVector& noise, const Rcpp::IntegerMatrix& neighbours,
                      const Rcpp::List& settings);

// Makes a request for stored sets, with at most `count` neighbours per set. `nugget` is the number of the parameter
// that multiplies the noise slopes, counted from 1, or 0 if there is none.
SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, int nugget, const HeldSets& sets,
                      double count, const Rcpp::List& settings);

}  // namespace kernops
