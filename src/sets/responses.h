// Many responses at the same points, each with its own parameters of one covariance: the profile likelihood with
// Vecchia's approximation (sets/profile.h), and its optimum. This file does not depend on R.
#pragma once
#include "sets/response_parameters.h"
#include "sets/sets.h"

namespace kernops {

// Points in their order, each with a conditioning set; `sets.values` are the columns of the trend. `responses` is an n
// x count matrix, whose rows are in the order of the points.
struct ResponseRequest {
  SetRequest sets;
  const double* responses;
  Count count;
  bool reml;
};

// The columns of a matrix in blocks: a block has `column_block` numbers of each point.
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

// Inner products of the whitened responses and trend, at one theta for all responses.
struct SharedProducts {
  bool regular;
  double logdet;
  Eigen::MatrixXd root;         // Cholesky factor of the Gram matrix of the whitened trend
  std::vector<double> squares;  // sum of squares of each response
  Eigen::MatrixXd across;       // inner products, trend x responses
};
SharedProducts shared_products(const ResponseRequest& request, const ColumnBlocks& columns, const double* theta);

// Returns the profile values of each response at each theta: count x the number of columns of theta.
std::vector<double> shared_values(const ResponseRequest& request, const Eigen::MatrixXd& theta);

// The best optimum of a response over several starts; s has the parameters of the search.
struct ResponseOptimum {
  Eigen::VectorXd s, theta;
  Profile profile;
  Eigen::MatrixXd information;  // twice the information matrix of s
  int evaluations = 0;
  bool converged = false;
};

// Starting points of searches, the same for each response. Column k of `near` has the starts that are nearest to start
// k. If start k has a lower value than these starts, a search from start k probably leads to a separate optimum.
struct ResponseStarts {
  Eigen::MatrixXd s;     // one column per start
  Eigen::MatrixXi near;  // numbers of starts, from 0
  double within;         // a start is used if its value exceeds the lowest value by at most this number
  int most;              // maximum number of searches
};

std::vector<ResponseOptimum> response_optima(const ResponseRequest& request, const ResponseParameters& parameters,
                                             const ResponseStarts& starts, double gain);

}  // namespace kernops
