// The step of k-means for R/verb_kmeans.R that is not a reduction of pairs: the new cluster centres.
#include "border.h"

using namespace kernops;

// For each of `count` clusters, the weighted sum of its rows of x and, in the last column, the sum of its weights.
// `label` has the cluster of each row, from 1. Without weights, each weight is 1.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix cluster_sums(Rcpp::NumericMatrix x, Rcpp::IntegerVector label, Rcpp::NumericVector weights,
                                 int count) {
  return guard_new([&] {
    const R_xlen_t n = x.nrow(), d = x.ncol();
    if (label.size() != n || (weights.size() != 0 && weights.size() != n))
      throw InputError("dim", "each row has a label and a weight");
    for (const int one : label)
      if (one < 1 || one > count) throw InputError("input", "labels are numbers of clusters");
    const double* const w = weights.size() ? weights.begin() : nullptr;
    Rcpp::NumericMatrix sums = zeros(count, int(d) + 1);
    for (R_xlen_t k = 0; k <= d; ++k) {
      double* const to = &sums(0, 0) + k * count - 1;
      const double* const from = k < d ? x.begin() + k * n : nullptr;
      for (R_xlen_t i = 0; i < n; ++i) to[label[i]] += (from ? from[i] : 1) * (w ? w[i] : 1);
    }
    return sums;
  });
}
