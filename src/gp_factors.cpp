// Vecchia factors times the factors of a low-rank approximation, for R/lik_vif.R: matrices with a column for each
// point, so that the entries of a point are side by side.
#include "border.h"
#include "dense/inner_product.h"
#include "run/parallel_for.h"
#include "settings.h"
#include "whole_numbers.h"

using namespace kernops;

namespace {

// The rows (1, -weights) / sd of a sparse factor U, each that of a point and of its neighbours among earlier ones.
struct PointSets {
  PointSets(const Rcpp::NumericMatrix& weights, const Rcpp::NumericVector& sd, const Rcpp::IntegerMatrix& neighbours)
      : weights(weights.begin()), sd(sd.begin()), near(neighbours.begin()), m(neighbours.nrow()), n(neighbours.ncol()) {
    if (weights.size() != neighbours.size() || sd.size() != n)
      throw InputError("dim", "each neighbour has a weight, and each point a standard deviation");
    check_neighbours(neighbours, n);
  }
  const double *weights, *sd;
  const int* near;
  const Count m, n;
};

void check_columns(const Rcpp::NumericMatrix& x, Count n) {
  if (x.ncol() != n) throw InputError("dim", "each point has a column");
}

// body(point) for all points.
template <class Body> void each_point(Count n, int threads, const Body& body) {
  constexpr Count chunk = 256;
  parallel_for((n + chunk - 1) / chunk, threads, with_threads(threads), [&](Count unit, Count) {
    for (Count i = unit * chunk; i < std::min(n, (unit + 1) * chunk); ++i) body(i);
  });
}

inline void add(double factor, const double* x, Count size, double* to) {
  for (Count e = 0; e < size; ++e) to[e] += factor * x[e];
}

}  // namespace

// x U' for a matrix x with a column for each point.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_whiten(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix neighbours,
                                   Rcpp::NumericMatrix x, int threads) {
  return guard_new([&] {
    const PointSets sets(weights, sd, neighbours);
    check_columns(x, sets.n);
    const Count size = x.nrow();
    Rcpp::NumericMatrix out = zeros(int(size), int(sets.n));
    const double* from = x.begin();
    double* to = out.begin();
    each_point(sets.n, threads, [&](Count i) {
      double* column = to + i * size;
      add(1, from + i * size, size, column);
      for (Count k = i * sets.m; k < (i + 1) * sets.m; ++k)
        if (sets.near[k] > 0) add(-sets.weights[k], from + (sets.near[k] - 1) * size, size, column);
      for (Count e = 0; e < size; ++e) column[e] /= sets.sd[i];
    });
    return out;
  });
}

// The inner products of column i of x and the columns of y of the neighbours of point i.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_inner(Rcpp::IntegerMatrix neighbours, Rcpp::NumericMatrix x, Rcpp::NumericMatrix y,
                                  int threads) {
  return guard_new([&] {
    const Count m = neighbours.nrow(), n = neighbours.ncol(), size = x.nrow();
    check_columns(x, n), check_columns(y, n);
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

// The derivatives of a function with respect to the factors V, a column for each point, where the covariance of sets is
// the residual k - V'V. The function depends on the whitened factors V U', with the derivatives `slopes`, and on the
// covariance of each set: it changes by p' dK c, where c = (1, -weights) is of the point and its neighbours, and
// p = (by_point, by_neighbours). With g = V c and h = V p of each set, dK = -dV'V - V'dV changes it by
// -(p' dV' g + h' dV c).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix factors_adjoint(Rcpp::List sets, Rcpp::NumericMatrix factors, Rcpp::NumericMatrix slopes,
                                    Rcpp::NumericVector by_point, Rcpp::NumericMatrix by_neighbours) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = sets["weights"];
    const Rcpp::NumericVector sd = sets["sd"];
    const PointSets of(weights, sd, Rcpp::IntegerMatrix(SEXP(sets["neighbours"])));
    check_columns(factors, of.n), check_columns(slopes, of.n);
    if (slopes.nrow() != factors.nrow() || by_point.size() != of.n || by_neighbours.size() != of.m * of.n)
      throw InputError("dim", "each factor has a slope");
    const Count size = factors.nrow();
    Rcpp::NumericMatrix out = zeros(int(size), int(of.n));
    std::vector<double> g(static_cast<size_t>(size)), a(static_cast<size_t>(size));
    for (Count i = 0; i < of.n; ++i) {
      const double* v = factors.begin() + i * size;
      for (Count e = 0; e < size; ++e) g[e] = v[e], a[e] = slopes[i * size + e] / of.sd[i] - by_point[i] * v[e];
      for (Count k = i * of.m; k < (i + 1) * of.m; ++k) {
        if (of.near[k] == 0) continue;
        const double* near = factors.begin() + (of.near[k] - 1) * size;
        add(-of.weights[k], near, size, g.data()), add(-by_neighbours[k], near, size, a.data());
      }
      add(1, a.data(), size, out.begin() + i * size), add(-by_point[i], g.data(), size, out.begin() + i * size);
      for (Count k = i * of.m; k < (i + 1) * of.m; ++k) {
        if (of.near[k] == 0) continue;
        double* near = out.begin() + (of.near[k] - 1) * size;
        add(-of.weights[k], a.data(), size, near), add(-by_neighbours[k], g.data(), size, near);
      }
    }
    return out;
  });
}
