// Gaussian conditional densities of small sets of points, for the CPU engines: plain structs.
//
// Set s consists of a point and the neighbours on which the point is conditioned. Let K = L L' be the covariance of a
// set in which the point comes last. All results follow from the last row of L^-1. With factors, K is the residual
// covariance of a low-rank approximation: the inner product of the factors of two points is subtracted from the
// formula.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// A formula of parameters and of two points, one for each row and one for each column of K.
struct PairFormula {
  Span<Slot> slots;
  Span<Source> uniform;    // parameters and constants
  Span<Load> points[2];    // loads of rows and columns: coordinates
  Span<Step> steps[4];     // by Level
  int entries[4];          // number of entries at each level
  int f;                   // slot of the result
  Span<Summand> summands;  // summands of the result, if they are computed instead of the result
};

struct SetJob {
  PairFormula covariance, slopes;  // slopes: the gradient with respect to the parameters, if requested
  int parameters;                  // number of parameters; 0 if no gradient is computed
  int nugget;                      // number of the parameter that multiplies the noise slopes; -1 for none
  double diagonal;                 // factor of the formula's variances
  const double* records;           // for each point: d coordinates, noise variance, its slope, `columns` values
  int d, columns;
  const int* neighbours;  // `stride` neighbours for each set, nearest first, from 1; 0 if there are fewer
  int m, stride;          // m: number of nearest neighbours to use
  Count first, sets;      // set s belongs to point first + s
  const double* factors;  // for each point: `rank` numbers; null for none
  int rank;
  // Optional results for each set: m weights of its neighbours in the conditional mean of its point, and the
  // conditional standard deviation; after these, for each parameter, the derivatives of the weights and of the
  // logarithm of the deviation.
  double *weights, *sd;
  // The derivatives of a function with respect to the weights and to the logarithms of the deviations of all sets, from
  // which the gradient of this function is computed.
  const double *weights_adjoint, *log_sd_adjoint;

  int record() const { return d + 2 + columns; }
  // Sums over sets: log det K, then products of whitened columns (lower triangle); then, for each parameter, the
  // derivatives of all these sums; then the expected information.
  int products() const { return columns * (columns + 1) / 2; }
  int sums() const { return (1 + products()) * (1 + parameters) + parameters * (parameters + 1) / 2; }
};

// Columns that are whitened by the weights of one covariance, in blocks of columns: set s belongs to point s.
constexpr int column_block = 16;

struct ColumnJob {
  const double *weights, *sd;  // for each set, as in SetJob
  const int* neighbours;
  int m, stride;
  Count sets;
  const double* columns;  // for each point: `column_block` values
  // for each point: `trend` whitened values; the products of these values and the columns are additional results
  const double* whitened;
  int trend;
  // for each column: the sum of squares; then, for each column, the products with all columns of the trend
  double* sums;
};

}  // namespace kernops
