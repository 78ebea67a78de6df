// The profile likelihood of a response with Vecchia's approximation: the coefficients of the trend and the scale, which
// is a common factor of all variances, are set to their optimal values. This file does not depend on R.
#pragma once
#include "sets/eigen.h"

namespace kernops {

struct Profile {
  // -2 log-likelihood (-2 log restricted likelihood with REML); INFINITY if the covariance is singular
  double value = INFINITY, scale = 0;
  double degrees = 0;
  Eigen::VectorXd contrast;  // the vector (1, -b), where b has the coefficients of the trend
  Eigen::MatrixXd inverse;   // with REML, the inverse of the trend's Gram matrix; otherwise empty
};

// `gram` is the Gram matrix of the whitened columns (the response, then the trend): its lower triangle by rows.
Profile profile_of(const double* gram, int columns, double logdet, double n, bool reml);

// Returns the symmetric matrix with a given lower triangle, stored by rows.
Eigen::MatrixXd from_triangle(const double* triangle, int size);

// Returns `value` of a Profile, given its degrees of freedom, the residual sum of squares `quadratic`, and the
// log-determinant of the covariance; `root` is the diagonal of the Cholesky factor of the trend's Gram matrix.
double profile_value(double degrees, double quadratic, double logdet, const Eigen::MatrixXd& root, bool reml);

// The derivatives of a profile with respect to the parameters of the covariance, computed from sums over the sets
// (SetJob): the gradient of the value, and twice an information matrix.
struct ProfileSlopes {
  Eigen::VectorXd gradient;
  Eigen::MatrixXd information;
};
ProfileSlopes slopes_of(const Profile& profile, const double* sums, int columns, int parameters);

}  // namespace kernops
