// Products of Vecchia's factor with the factors of a low-rank approximation, for R/lik_vif.R. Matrices have one column
// per point, so that the entries of a point are contiguous.
#include "cpu/cpu.h"
#include "dense/dense.h"
#include "dense/inner_product.h"
#include "settings.h"
#include "sparse_factor.h"

using namespace kernops;

// The inner products of column i of x with the columns of y that belong to the neighbours of point i.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_inner(Rcpp::IntegerMatrix neighbours, Rcpp::NumericMatrix x, Rcpp::NumericMatrix y,
                                  int threads) {
  return guard_new([&] {
    const Count m = neighbours.nrow(), n = neighbours.ncol(), size = x.nrow();
    check_point_columns(x, n), check_point_columns(y, n);
    if (y.nrow() != size) throw InputError("dim", "columns have the same length");
    check_neighbours(neighbours, n);
    Rcpp::NumericMatrix out = zeros(int(m), int(n));
    const double *left = x.begin(), *right = y.begin();
    const int* near = neighbours.begin();
    double* to = out.begin();
    each_point(n, threads, [&](Count i) {
      for (Count k = i * m; k < (i + 1) * m; ++k)
        if (near[k] > 0) to[k] = inner_product(left + i * size, right + (near[k] - 1) * size, size);
    });
    return out;
  });
}

// x y' for two matrices with one column per point.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_outer(Rcpp::NumericMatrix x, Rcpp::NumericMatrix y, Rcpp::List settings) {
  return guard_new([&] {
    check_point_columns(y, x.ncol());
    const Settings read = read_settings(settings);
    const dense::Context context{cpu::dense_tiles(read.isa), read.threads, [] {}};
    const auto matrix = [](const Rcpp::NumericMatrix& a) -> dense::Matrix {
      return {const_cast<double*>(a.begin()), a.nrow(), a.ncol(), a.nrow()};
    };
    Rcpp::NumericMatrix out = zeros(x.nrow(), y.nrow());
    dense::outer_product(context, matrix(x), matrix(y), matrix(out));
    return out;
  });
}

// The derivatives of a function with respect to the low-rank factors V, which have one column per point, if the
// covariance of the sets is the residual k - V'V. The function depends on V in two ways. First, the function depends on
// the whitened factors V U', with the derivatives `slopes`. Second, the function depends on the covariance K of each
// set: a change dK changes the function by p' dK c, where c = (1, -weights) has an entry for the point and each of its
// neighbours, and p = (by_point, by_neighbours). With g = V c and h = V p, the change dK = -dV'V - V'dV changes the
// function by -(p' dV' g + h' dV c). Each thread computes some of the rows of the derivatives, for all sets.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_adjoint(Rcpp::List sets, Rcpp::NumericMatrix factors, Rcpp::NumericMatrix slopes,
                                    Rcpp::NumericVector by_point, Rcpp::NumericMatrix by_neighbours, int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = sets["weights"];
    const Rcpp::NumericVector sd = sets["sd"];
    const SparseFactor u(weights, sd, Rcpp::IntegerMatrix(SEXP(sets["neighbours"])));
    check_point_columns(factors, u.sets), check_point_columns(slopes, u.sets);
    if (slopes.nrow() != factors.nrow() || by_point.size() != u.sets || by_neighbours.size() != u.m * u.sets)
      throw InputError("dim", "each factor has a slope");
    const Count size = factors.nrow();
    Rcpp::NumericMatrix out = zeros(int(size), int(u.sets));
    const double *v = factors.begin(), *slope = slopes.begin(), *p = by_point.begin(), *by = by_neighbours.begin();
    double* to = out.begin();
    const Count slice = std::max<Count>(16, (size + threads - 1) / std::max(threads, 1));
    parallel_for((size + slice - 1) / slice, threads, with_threads(threads), [&](Count unit, Count) {
      const Count first = unit * slice, rows = std::min(slice, size - first);
      std::vector<double> memory(static_cast<size_t>(2 * rows));
      double *const g = memory.data(), *const a = g + rows;
      for (Count i = 0; i < u.sets; ++i) {
        const Count here = i * size + first;
        for (Count e = 0; e < rows; ++e) g[e] = v[here + e], a[e] = slope[here + e] / u.sd[i] - p[i] * v[here + e];
        u.each(i, [&](double weight, Count near, Count k) {
          const double* of = v + near * size + first;
          for (Count e = 0; e < rows; ++e) g[e] -= weight * of[e], a[e] -= by[i * u.m + k] * of[e];
        });
        for (Count e = 0; e < rows; ++e) to[here + e] += a[e] - p[i] * g[e];
        u.each(i, [&](double weight, Count near, Count k) {
          double* of = to + near * size + first;
          for (Count e = 0; e < rows; ++e) of[e] -= weight * a[e] + by[i * u.m + k] * g[e];
        });
      }
    });
    return out;
  });
}
