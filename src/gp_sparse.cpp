// Products with the sparse factor U of conditional distributions, and with the matrix of its weights, for
// R/solve_sets.R.
#include "settings.h"
#include "sparse_factor.h"

using namespace kernops;

// For each set, the weighted sum of the rows of x that belong to the neighbours of the set.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sets_means(Rcpp::NumericMatrix weights, Rcpp::IntegerMatrix neighbours, Rcpp::NumericMatrix x) {
  return guard_new([&] {
    const SparseFactor u(weights, neighbours, x.nrow());
    Rcpp::NumericMatrix out = zeros(int(u.sets), x.ncol());
    for (Count c = 0; c < x.ncol(); ++c) {
      const double* column = x.begin() + c * x.nrow();
      for (Count s = 0; s < u.sets; ++s) {
        double sum = 0;
        u.each(s, [&](double weight, Count neighbour, Count) { sum += weight * column[neighbour]; });
        out[c * u.sets + s] = sum;
      }
    }
    return out;
  });
}

// For each of `points` points, the weighted sum of the rows of x that belong to the sets with this point as a
// neighbour.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sets_scatter(Rcpp::NumericMatrix weights, Rcpp::IntegerMatrix neighbours, Rcpp::NumericMatrix x,
                                 int points) {
  return guard_new([&] {
    const SparseFactor u(weights, neighbours, points);
    if (x.nrow() != u.sets) throw InputError("dim", "each set has a row");
    Rcpp::NumericMatrix out = zeros(points, x.ncol());
    for (Count c = 0; c < x.ncol(); ++c)
      for (Count s = 0; s < u.sets; ++s)
        u.each(s, [&](double weight, Count neighbour, Count) {
          out[c * points + neighbour] += weight * x[c * u.sets + s];
        });
    return out;
  });
}

// x U', or x U if `transposed`, for a matrix x with one column per point.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sets_whiten(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix neighbours,
                                Rcpp::NumericMatrix x, bool transposed, int threads) {
  return guard_new([&] {
    const SparseFactor u(weights, sd, neighbours);
    check_point_columns(x, u.sets);
    const Count size = x.nrow();
    Rcpp::NumericMatrix out = zeros(int(size), int(u.sets));
    const double* from = x.begin();
    double* to = out.begin();
    if (!transposed) {
      each_point(u.sets, threads, [&](Count i) {
        const double* value = from + i * size;
        double* column = to + i * size;
        u.each(i, [&](double weight, Count near, Count) { add_scaled(weight, from + near * size, size, column); });
        for (Count e = 0; e < size; ++e) column[e] = (value[e] - column[e]) / u.sd[i];
      });
      return out;
    }
    std::vector<double> scaled(static_cast<size_t>(size));
    for (Count i = 0; i < u.sets; ++i) {
      for (Count e = 0; e < size; ++e) scaled[e] = from[i * size + e] / u.sd[i];
      add_scaled(1, scaled.data(), size, to + i * size);
      u.each(i, [&](double weight, Count near, Count) { add_scaled(-weight, scaled.data(), size, to + near * size); });
    }
    return out;
  });
}

// x U'^-1, or x U^-1 if `transposed`, for a matrix x with one column per point.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sets_colour(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix neighbours,
                                Rcpp::NumericMatrix x, bool transposed) {
  return guard_new([&] {
    const SparseFactor u(weights, sd, neighbours);
    check_point_columns(x, u.sets);
    const Count size = x.nrow();
    Rcpp::NumericMatrix out = transposed ? Rcpp::clone(x) : zeros(int(size), int(u.sets));
    double* to = out.begin();
    std::vector<double> value(static_cast<size_t>(size));
    if (!transposed) {
      for (Count i = 0; i < u.sets; ++i) {
        const double* white = x.begin() + i * size;
        double* column = to + i * size;
        u.each(i, [&](double weight, Count near, Count) { add_scaled(weight, to + near * size, size, column); });
        for (Count e = 0; e < size; ++e) column[e] = u.sd[i] * white[e] + column[e];
      }
      return out;
    }
    for (Count i = u.sets - 1; i >= 0; --i) {
      double* column = to + i * size;
      std::copy(column, column + size, value.begin());
      u.each(i, [&](double weight, Count near, Count) { add_scaled(weight, value.data(), size, to + near * size); });
      for (Count e = 0; e < size; ++e) column[e] = u.sd[i] * value[e];
    }
    return out;
  });
}
