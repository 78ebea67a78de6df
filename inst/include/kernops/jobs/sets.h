// Gaussian conditional densities of small sets of points, as the CPU engines see them: plain structs.
//
// Set s is a point and its neighbours, on which the point is conditioned. With K the covariance of a set, its point
// last, and K = L L', all that is wanted is in the last row of L^-1. With factors, K is the residual covariance of a
// low-rank approximation: the inner product of the factors of two points is subtracted from the formula.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// A formula of parameters and of two points, one for each row and one for each column of K.
struct PairFormula {
  Span<Slot> slots;
  Span<Source> uniform;    // parameters and constants
  Span<Load> points[2];    // what rows and columns load: coordinates
  Span<Step> steps[4];     // by Level
  int entries[4];          // how many entries each level holds
  int f;                   // slot of the result
  Span<Summand> summands;  // what the result is the sum of, where these are wanted instead
};

struct SetJob {
  PairFormula covariance, slopes;  // slopes: the gradient with respect to the parameters, if these are wanted
  int parameters;                  // how many; 0 where no gradient is wanted
  int nugget;                      // which of them multiplies the noise slopes; -1 for none
  double diagonal;                 // what the formula's variances are multiplied by
  const double* records;           // of each point: d coordinates, noise variance, its slope, `columns` values
  int d, columns;
  const int* neighbours;  // `stride` of each set, nearest first, from 1; 0 where there are fewer
  int m, stride;          // the first m are taken
  Count first, sets;      // set s is that of point first + s
  const double* factors;  // of each point: `rank` numbers; null for none
  int rank;
  // Where wanted, of each set: m weights, of its neighbours in the conditional mean of its point, and the conditional
  // standard deviation; after these, for each parameter, the derivatives of the weights, and of the deviation's
  // logarithm.
  double *weights, *sd;
  // The derivatives of a function with respect to the weights and to the logarithms of the deviations of all sets,
  // where its gradient is wanted.
  const double *weights_adjoint, *log_sd_adjoint;

  int record() const { return d + 2 + columns; }
  // Sums over sets: log det K, then products of whitened columns (lower triangle); then for each parameter the
  // derivatives of these; then the expected information.
  int products() const { return columns * (columns + 1) / 2; }
  int sums() const { return (1 + products()) * (1 + parameters) + parameters * (parameters + 1) / 2; }
};

// Columns that are whitened by the weights of one covariance, some at a time: set s is that of point s.
constexpr int column_block = 16;

struct ColumnJob {
  const double *weights, *sd;  // of each set, as above
  const int* neighbours;
  int m, stride;
  Count sets;
  const double* columns;   // of each point: `column_block` values
  const double* whitened;  // of each point: `trend` whitened values, whose products with the columns are wanted, too
  int trend;
  double* sums;  // of each column the sum of squares; then the products with each of the trend
};

}  // namespace kernops
