// The profile likelihood of a response with Vecchia's approximation: the coefficients of the trend and the scale, which
// is the common factor of all variances, have their optimal values. Independent of R.
#pragma once
#include "sets/eigen.h"

namespace kernops {

struct Profile {
  // -2 log-likelihood (with REML, of error contrasts); INFINITY if the covariance is singular
  double value = INFINITY, scale = 0;
  double degrees = 0;
  Eigen::VectorXd contrast;  // 1, then minus the coefficients of the trend
  Eigen::MatrixXd inverse;   // with REML: for the determinant of the products of the trend; otherwise empty
};

// `gram` has the lower triangle of the products of the whitened columns, row by row: the response, then the trend.
Profile profile_of(const double* gram, int columns, double logdet, double n, bool reml);

// The symmetric matrix with this lower triangle.
Eigen::MatrixXd from_triangle(const double* triangle, int size);

// The profile value from its parts; `root` is the diagonal of the factor of the products of the trend.
double profile_value(double degrees, double quadratic, double logdet, const Eigen::MatrixXd& root, bool reml);

// The derivatives of a profile with respect to parameters of the covariance, computed from the sums over the sets
// (SetJob): the gradient of the value, and twice an information matrix.
struct ProfileSlopes {
  Eigen::VectorXd gradient;
  Eigen::MatrixXd information;
};
ProfileSlopes slopes_of(const Profile& profile, const double* sums, int columns, int parameters);

}  // namespace kernops
