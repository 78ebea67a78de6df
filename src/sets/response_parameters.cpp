#include "sets/response_parameters.h"

#include <cmath>

namespace kernops {

using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<int> ResponseParameters::searched() const {
  std::vector<int> rows;
  for (int k = 0; k < size(); ++k)
    if (roles[k] != Role::fixed && roles[k] != Role::nugget) rows.push_back(k);
  return rows;
}

VectorXd ResponseParameters::theta(const VectorXd& s) const {
  VectorXd theta = value;
  double share = 0;
  for (int k = 0; k < size(); ++k)
    if (roles[k] == Role::first) share = s[k];
  const double first = -std::expm1(-share);
  for (int k = 0; k < size(); ++k) switch (roles[k]) {
      case Role::fixed: break;
      case Role::logarithm: theta[k] = std::exp(s[k]); break;
      case Role::linear: theta[k] = s[k] * unit[k]; break;
      case Role::first: theta[k] = first; break;
      case Role::nugget: theta[k] = std::exp(-share); break;
      case Role::multiple: theta[k] = first * std::exp(s[k]); break;
    }
  return theta;
}

MatrixXd ResponseParameters::slopes(const VectorXd& s) const {
  const std::vector<int> rows = searched();
  const VectorXd at = theta(s);
  MatrixXd slopes = MatrixXd::Zero(size(), Eigen::Index(rows.size()));
  for (int c = 0; c < int(rows.size()); ++c) {
    const int k = rows[c];
    if (roles[k] == Role::linear) slopes(k, c) = unit[k];
    if (roles[k] == Role::logarithm || roles[k] == Role::multiple) slopes(k, c) = at[k];
    if (roles[k] != Role::first) continue;
    const double rest = std::exp(-s[k]);
    for (int r = 0; r < size(); ++r) {
      if (roles[r] == Role::first) slopes(r, c) = rest;
      if (roles[r] == Role::nugget) slopes(r, c) = -rest;
      if (roles[r] == Role::multiple) slopes(r, c) = rest * std::exp(s[r]);
    }
  }
  return slopes;
}

}  // namespace kernops
