// The sparse factor U of conditional distributions, for the source files that multiply by U.
#pragma once
#include "border.h"
#include "run/parallel_for.h"
#include "whole_numbers.h"

namespace kernops {

// The sparse factor U has one row (1, -weights) / sd for each set, which consists of a point and its neighbours. In a
// square U, the neighbours of a point precede it in the ordering.
struct SparseFactor {
  SparseFactor(const Rcpp::NumericMatrix& weights, const Rcpp::IntegerMatrix& neighbours, Count points)
      : weights(weights.begin()), neighbours(neighbours.begin()), m(neighbours.nrow()), sets(neighbours.ncol()) {
    if (weights.nrow() != m || weights.ncol() != sets) throw InputError("dim", "each neighbour has a weight");
    check_neighbours(neighbours, points);
  }
  // Creates a square U.
  SparseFactor(const Rcpp::NumericMatrix& weights, const Rcpp::NumericVector& sd, const Rcpp::IntegerMatrix& neighbours)
      : SparseFactor(weights, neighbours, neighbours.ncol()) {
    if (sd.size() != sets) throw InputError("dim", "each point has a standard deviation");
    this->sd = sd.begin();
  }

  // Calls body(weight, neighbour, k) for each neighbour of a set, where k is the index of the neighbour in the set.
  template <class Body> void each(Count set, const Body& body) const {
    const Count first = set * m;
    for (Count k = 0; k < m; ++k)
      if (neighbours[first + k] > 0) body(weights[first + k], Count(neighbours[first + k] - 1), k);
  }

  const double *weights, *sd = nullptr;
  const int* neighbours;
  const Count m, sets;
};

// Checks a matrix with one column per point; the entries of a point are then contiguous.
inline void check_point_columns(const Rcpp::NumericMatrix& x, Count points) {
  if (x.ncol() != points) throw InputError("dim", "each point has a column");
}

inline void add_scaled(double factor, const double* x, Count size, double* to) {
  for (Count e = 0; e < size; ++e) to[e] += factor * x[e];
}

// Calls body(point) for all points, on several threads.
template <class Body> void each_point(Count n, int threads, const Body& body) {
  constexpr Count chunk = 256;
  parallel_for((n + chunk - 1) / chunk, threads, with_threads(threads), [&](Count unit, Count) {
    for (Count i = unit * chunk; i < std::min(n, (unit + 1) * chunk); ++i) body(i);
  });
}

}  // namespace kernops
