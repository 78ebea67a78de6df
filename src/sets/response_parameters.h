// Parameters of a covariance with a nugget on the scale of a search.
//
// The scale of all variances is profiled. The share of the nugget is exp(-s) with s >= 0, that of the first variance
// 1 - exp(-s): near 0, where a response has no field, s is linear in the variance and the likelihood has a slope; where
// there is little noise, s is the logarithm of the nugget. Other variances are multiples of the first, whose logarithm
// is searched.
#pragma once
#include <vector>

#include "sets/profile.h"

namespace kernops {

enum class Role { fixed, logarithm, linear, first, nugget, multiple };

struct ResponseParameters {
  std::vector<Role> roles;
  Eigen::VectorXd value, unit;       // of fixed ones; of linear ones
  Eigen::VectorXd low, high, ridge;  // bounds; a range beyond its ridge must increase the log-likelihood by 0.1

  int size() const { return int(roles.size()); }
  std::vector<int> searched() const;  // which of them the search moves
  Eigen::VectorXd theta(const Eigen::VectorXd& s) const;
  Eigen::MatrixXd slopes(const Eigen::VectorXd& s) const;  // dtheta / ds, for those that are searched
};

}  // namespace kernops
