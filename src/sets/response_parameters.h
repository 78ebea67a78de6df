// The parameters of a covariance with a nugget, transformed for a search.
//
// The scale of all variances is profiled, so that the search varies only shares of the total variance. The share of the
// nugget is exp(-s) with s >= 0, and the share of the first variance is 1 - exp(-s). If a response has almost no
// spatial field, s is near 0 and proportional to the field's variance, so that the likelihood still has a slope. If
// there is little noise, s is large, and the search moves the nugget's share on a logarithmic scale. Other variances
// are represented by the logarithms of their ratios to the first variance.
#pragma once
#include <vector>

#include "sets/profile.h"

namespace kernops {

enum class Role { fixed, logarithm, linear, first, nugget, multiple };

struct ResponseParameters {
  std::vector<Role> roles;
  Eigen::VectorXd value, unit;  // values of fixed parameters; units of linear parameters
  // bounds; a range above `ridge` is accepted only if the log-likelihood is higher by at least 0.1
  Eigen::VectorXd low, high, ridge;

  int size() const { return int(roles.size()); }
  std::vector<int> searched() const;  // the parameters that the search changes
  Eigen::VectorXd theta(const Eigen::VectorXd& s) const;
  Eigen::MatrixXd slopes(const Eigen::VectorXd& s) const;  // dtheta / ds, for the searched parameters
};

}  // namespace kernops
