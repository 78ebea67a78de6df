// The arguments for Gaussian conditional densities of small sets of points on the CPU: plain structs.
//
// Set s consists of a point and the neighbours on which the point is conditioned. Let K = L L' be the covariance of a
// set, in which the point comes last. All results are computed from the last row of L^-1. If `factors` are given, K is
// the residual covariance of a low-rank approximation: the inner product of the factors of two points is subtracted
// from the value of the formula.
#pragma once
#include <kernops/jobs/job.h>

namespace kernops {

// A formula of parameters and of two points, one for each row and one for each column of K.
struct PairFormula {
  Span<Slot> slots;
  Span<Source> uniform;    // parameters and constants
  Span<Load> points[2];    // loads of the coordinates of rows and columns
  Span<Step> steps[4];     // by Level
  int entries[4];          // number of entries at each level
  int f;                   // slot of the result
  Span<Summand> summands;  // if not empty: the summands that are computed instead of the result
};

struct SetJob {
  PairFormula covariance, slopes;  // slopes: the gradient with respect to the parameters
  int parameters;                  // number of parameters; 0 if no gradient is computed
  int nugget;                      // number of the parameter that multiplies the noise slopes; -1 for none
  double diagonal;                 // factor of the variances, the values k(x, x) of the formula
  const double* records;           // for each point: d coordinates, noise variance, slope of the noise, values
  int d, columns;
  const int* neighbours;  // `stride` neighbours for each set, nearest first, from 1; missing neighbours are 0
  int m, stride;          // m: number of nearest neighbours to use
  Count first, sets;      // set s belongs to point first + s
  const double* factors;  // `rank` numbers for each point; null if there are none
  int rank;
  // Optional results for each set: m weights of the neighbours in the conditional mean of the point, and the
  // conditional standard deviation. After these results come, for each parameter, the derivatives of the weights and of
  // the logarithm of the standard deviation.
  double *weights, *sd;
  // The derivatives of a function with respect to the weights, and with respect to the logarithms of the standard
  // deviations, of all sets. The gradient of this function is computed from these derivatives.
  const double *weights_adjoint, *log_sd_adjoint;

  int record() const { return d + 2 + columns; }
  // The order of the sums over sets: log det K, and products of whitened columns (lower triangle); for each parameter,
  // the derivatives of these sums; the expected information.
  int products() const { return columns * (columns + 1) / 2; }
  int sums() const { return (1 + products()) * (1 + parameters) + parameters * (parameters + 1) / 2; }
};

// The arguments for products of columns that are whitened by the weights of one covariance. Columns are processed in
// blocks, and set s belongs to point s.
constexpr int column_block = 16;

struct ColumnJob {
  const double *weights, *sd;  // for each set, as in SetJob
  const int* neighbours;
  int m, stride;
  Count sets;
  const double* columns;  // for each point: `column_block` values
  // for each point: `trend` whitened values of the trend; the products of the trend and the columns are additional
  // results
  const double* whitened;
  int trend;
  // the sum of squares of each column; after all sums of squares, for each column, the products with the columns of the
  // trend
  double* sums;
};

}  // namespace kernops
