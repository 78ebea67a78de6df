// Parameters of a covariance with a nugget, transformed for a search.
//
// The scale of all variances is profiled. The share of the nugget is exp(-s) with s >= 0, and the share of the first
// variance is 1 - exp(-s). For a response without a field, s is near 0 and linear in the variance, so that the
// likelihood has a slope; for little noise, -s is the logarithm of the nugget. Other variances are searched by the
// logarithms of their ratios to the first variance.
#pragma once
#include <vector>

#include "sets/profile.h"

namespace kernops {

enum class Role { fixed, logarithm, linear, first, nugget, multiple };

struct ResponseParameters {
  std::vector<Role> roles;
  Eigen::VectorXd value, unit;  // values of fixed parameters; units of linear ones
  // bounds; a range beyond its ridge must increase the log-likelihood by at least 0.1
  Eigen::VectorXd low, high, ridge;

  int size() const { return int(roles.size()); }
  std::vector<int> searched() const;  // the parameters that the search moves
  Eigen::VectorXd theta(const Eigen::VectorXd& s) const;
  Eigen::MatrixXd slopes(const Eigen::VectorXd& s) const;  // dtheta / ds, for the searched parameters
};

}  // namespace kernops
