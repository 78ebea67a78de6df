// Minimises a function within bounds by quasi-Newton steps (BFGS) that begin with an information matrix; the C++
// counterpart of R/search_newton.R. Values are -2 log-likelihoods.
#pragma once
#include <functional>
#include <vector>

#include "sets/eigen.h"

namespace kernops {

struct SearchPoint {
  Eigen::VectorXd s;
  double value = INFINITY;  // INFINITY if the covariance is singular
  Eigen::VectorXd gradient;
  Eigen::MatrixXd information;  // an approximation of the second derivatives
};

struct Bounds {
  Eigen::VectorXd low, high;
  std::vector<bool> jumps;  // parameters that may move to their upper bounds in one step
};

struct SearchTarget {
  std::function<SearchPoint(const Eigen::VectorXd&)> visit;
  double gain;  // the search ends when a step would increase the log-likelihood by less than `gain`
};

struct SearchEnd {
  SearchPoint point;
  bool converged = false;
};

// Returns the end of a search. The search stops early if it cannot reach a value less than `below`.
SearchEnd quasi_newton(const SearchTarget& target, const Eigen::VectorXd& start, const Bounds& bounds,
                       double below = INFINITY);

}  // namespace kernops
