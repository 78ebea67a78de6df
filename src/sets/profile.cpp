#include "sets/profile.h"

#include <cmath>

namespace kernops {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd from_triangle(const double* triangle, int size) {
  MatrixXd full(size, size);
  for (int r = 0; r < size; ++r)
    for (int c = 0; c <= r; ++c) full(r, c) = full(c, r) = *triangle++;
  return full;
}

double profile_value(double degrees, double quadratic, double logdet, const MatrixXd& root, bool reml) {
  constexpr double pi = 3.14159265358979323846;
  const double scale = std::max(quadratic / degrees, 1e-300);
  const double value = degrees * (std::log(2 * pi * scale) + 1) + logdet;
  return reml ? value + 2 * root.diagonal().array().log().sum() : value;
}

Profile profile_of(const double* gram, int columns, double logdet, double n, bool reml) {
  Profile profile;
  const int p = columns - 1;
  const MatrixXd products = from_triangle(gram, columns);
  if (!std::isfinite(logdet)) return profile;
  Eigen::LLT<MatrixXd> factor;
  if (p && factor.compute(products.bottomRightCorner(p, p)).info() != Eigen::Success) return profile;
  const VectorXd across = products.col(0).tail(p), coefficients = p ? VectorXd(factor.solve(across)) : across;
  const double quadratic = products(0, 0) - across.dot(coefficients);
  if (!std::isfinite(quadratic)) return profile;
  profile.degrees = n - (reml ? p : 0);
  profile.scale = std::max(quadratic / profile.degrees, 1e-300);
  profile.value =
      profile_value(profile.degrees, quadratic, logdet, p ? MatrixXd(factor.matrixL()) : MatrixXd(0, 0), reml && p);
  profile.contrast.resize(columns);
  profile.contrast << 1, -coefficients;
  if (reml && p) profile.inverse = factor.solve(MatrixXd::Identity(p, p));
  return profile;
}

ProfileSlopes slopes_of(const Profile& profile, const double* sums, int columns, int parameters) {
  const int products = columns * (columns + 1) / 2, p = columns - 1;
  VectorXd trace(parameters), gradient(parameters);
  const double* slope = sums + 1 + products;
  for (int k = 0; k < parameters; ++k, slope += 1 + products) {
    const MatrixXd change = from_triangle(slope + 1, columns);
    trace[k] = slope[0];
    if (profile.inverse.size()) trace[k] += profile.inverse.cwiseProduct(change.bottomRightCorner(p, p)).sum();
    gradient[k] = trace[k] + profile.contrast.dot(change * profile.contrast) / profile.scale;
  }
  return {gradient, from_triangle(slope, parameters) - trace * trace.transpose() / profile.degrees};
}

}  // namespace kernops
