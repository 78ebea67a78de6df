// The border of a sparse matrix: the rows of coefficients that are observed with every point, such as coefficients of
// smooths. These rows would fill every row of a sparse factor. They are eliminated last, so that the factor of [H A'; A
// D] is [L 0; X' C], with X = L^-1 A and C C' = D - X' X, for the factor L of H. Matrices with a column for each point
// are stored by columns.
#pragma once
#include <Eigen/Dense>

#include "run/backend.h"

namespace kernops::neighbours {

struct Border {
  using Matrix = Eigen::MatrixXd;

  Count width = 0;
  Matrix across, within;  // A' and D
  Matrix factor;   // the columns of X' in units of the rows of L, see Posterior::eliminate(); those of the head in
                   // the order of its elimination
  Matrix root;     // C
  Matrix inverse;  // the border of the inverse of the whole matrix: a column for each point

  // The row of an effect: rows are in the reverse order of elimination, as in Posterior::Rows.
  size_t row(Count k) const { return size_t(width - 1 - k); }
  double pivot(size_t row) const { return root(width - 1 - Count(row), width - 1 - Count(row)); }
  template <class Each> void each(size_t row, const Each& each) const {
    const Count k = width - 1 - Count(row);
    for (Count j = k + 1; j < width; ++j) each(root(j, k), this->row(j));
  }
  // The block of the inverse for the border, C'^-1 C^-1; and C^-1 x.
  Matrix covariance() const {
    const Matrix half = root.triangularView<Eigen::Lower>().solve(Matrix::Identity(width, width));
    return half.transpose() * half;
  }
  template <class X> void solve_root(X&& x) const { root.triangularView<Eigen::Lower>().solveInPlace(x); }
};

// `count` observations of a point and of `each` effects, all counted from 1: observation i belongs to point[i], has its
// effects in column[i * each] onwards, times `value`, and the precision share[i].
struct Observations {
  Count count, each;
  const int *point, *column;
  const double *value, *share;
};

}  // namespace kernops::neighbours
