// New points that follow base points, such as observations, in an ordering. The value of a new point is a weighted sum
// of the values of base points and earlier new points, plus an independent error. The weights and the standard
// deviations of the errors define a sparse triangular factor of the precision matrix of the new points given the base
// points (Katzfuss, Guinness, Gong and Zilber 2020).
#pragma once
#include "neighbours/posterior.h"

namespace kernops::neighbours {

struct NewPoints {
  Count base, count;
  int m;
  const double *weights, *sd;  // weights: m for each new point; sd: standard deviations of the errors
  const int* neighbours;       // m neighbours of each new point, from 1: base points, then new points; 0 for none
  const Posterior* posterior;  // posterior of the base points' values; null if they are known
  Count total;                 // number of all new points; this object may contain only a part of them

  // True if the neighbours of each new point are base points or earlier new points.
  bool in_order(const Settings& settings) const;
  // Computes the values of the new points from the values of the base points and, unless `errors` is null, from the
  // errors, which are given in units of sd. Results do not depend on the number of threads.
  void predict(const double* at_base, const double* errors, int columns, double* to, const Settings& settings) const;
  // Computes the variances of all new points.
  void variances(const Settings& settings, double* to) const;
  // Computes the variances of weighted sums of new points, which are numbered from 1. Unless `parts` is null, it has a
  // column of part_size() zeros for each sum. The function sets these columns such that the inner product of two
  // columns is the covariance of their sums.
  void sum_points(const PointSets& sets, const double* sums, const Settings& settings, double* to, double* parts) const;
  Count part_size() const { return first() + count; }

 private:
  struct Rows;
  // The index of the first new point in the joint factor: the rows of the posterior, if there is one, come before it.
  Count first() const { return posterior ? base : 0; }
};

}  // namespace kernops::neighbours
