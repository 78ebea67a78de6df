// The border of a sparse matrix: the rows of coefficients that are observed with every point, such as coefficients of
// smooths. In a sparse factor, these rows would have an entry for every point. Therefore they are dense and are
// eliminated last. Let L be the factor of H; then the factor of [H A; A' D] is [L 0; X' C], with X = L^-1 A and C C' =
// D - X' X. Matrices with a column for each point are stored by columns.
#pragma once
#include <Eigen/Dense>

#include "run/backend.h"

namespace kernops::neighbours {

struct Border {
  using Matrix = Eigen::MatrixXd;

  Count width = 0;
  Matrix across, within;  // A' and D
  // X', whose columns are scaled like the rows of L (see Posterior::eliminate()). The columns of the head (see
  // neighbours/posterior.h) are in the order of its elimination.
  Matrix factor;
  Matrix root;     // C
  Matrix inverse;  // the rows of the border in the inverse of the whole matrix: a column for each point

  // The row of effect k; rows are in the reverse order of elimination, as in Posterior::Rows.
  size_t row(Count k) const { return size_t(width - 1 - k); }
  double pivot(size_t row) const { return root(width - 1 - Count(row), width - 1 - Count(row)); }
  template <class Each> void each(size_t row, const Each& each) const {
    const Count k = width - 1 - Count(row);
    for (Count j = k + 1; j < width; ++j) each(root(j, k), this->row(j));
  }
  // The covariance of the coefficients of the border: C'^-1 C^-1, a block of the inverse of the whole matrix.
  // solve_root() replaces x by C^-1 x.
  Matrix covariance() const {
    const Matrix half = root.triangularView<Eigen::Lower>().solve(Matrix::Identity(width, width));
    return half.transpose() * half;
  }
  template <class X> void solve_root(X&& x) const { root.triangularView<Eigen::Lower>().solveInPlace(x); }
};

// `count` observations, each of a point and of `each` effects. Observation i belongs to point[i] and has precision
// share[i]. Effect column[i * each + k] is multiplied by value[i * each + k], for k = 0 .. each - 1. Points and effects
// are counted from 1.
struct Observations {
  Count count, each;
  const int *point, *column;
  const double *value, *share;
};

}  // namespace kernops::neighbours
