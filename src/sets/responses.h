// Many responses at the same points, each with its own parameters of one covariance: Vecchia's likelihood, profiled
// (sets/profile.h), and its optimum. Independent of R.
#pragma once
#include "sets/response_parameters.h"
#include "sets/sets.h"

namespace kernops {

// Points in their order, each with a set; the `values` of the sets are the columns of the trend. The responses are n x
// count numbers, in the order of the points.
struct ResponseRequest {
  SetRequest sets;
  const double* responses;
  Count count;
  bool reml;
};

// Columns in blocks of `column_block` numbers of each point.
class ColumnBlocks {
 public:
  ColumnBlocks(const double* columns, Count n, Count count);
  Count count() const { return count_; }
  Count blocks() const { return ceil_div(count_, column_block); }
  const double* block(Count number) const { return values_.data() + size_t(number * n_) * column_block; }

 private:
  Count n_, count_;
  std::vector<double> values_;
};

// The products of the whitened responses at parameters that all of them share.
struct SharedProducts {
  bool regular;
  double logdet;
  Eigen::MatrixXd root;         // L L' are the products of the whitened trend
  std::vector<double> squares;  // sums of squares of each response
  Eigen::MatrixXd across;       // trend x responses
};
SharedProducts shared_products(const ResponseRequest& request, const ColumnBlocks& columns, const double* theta);

// Profile values of each response: count x the columns of theta.
std::vector<double> shared_values(const ResponseRequest& request, const Eigen::MatrixXd& theta);

// The best optimum of a response over several starts, in the parameters of the search.
struct ResponseOptimum {
  Eigen::VectorXd s, theta;
  Profile profile;
  Eigen::MatrixXd information;  // twice the information of s
  int evaluations = 0;
  bool converged = false;
};

// Starts of searches for each response. The rows of `near` are the nearest other starts of each start; a start with a
// lower value than all of these leads to a separate optimum.
struct ResponseStarts {
  Eigen::MatrixXd s;     // one column per start
  Eigen::MatrixXi near;  // numbers from 0
  double within;         // searches begin at starts whose value exceeds the lowest by at most this number
  int most;              // number of searches
};

std::vector<ResponseOptimum> response_optima(const ResponseRequest& request, const ResponseParameters& parameters,
                                             const ResponseStarts& starts, double gain);

}  // namespace kernops
