// Conditional densities of sets of points: what R asks for. Free of R.
#pragma once
#include <kernops/jobs/sets.h>

#include <vector>

#include "run/backend_cache.h"
#include "run/pairs.h"

namespace kernops {

// Points in their order, and the sets of some of them.
struct SetRequest {
  const Kernel* covariance;        // stores k(x, y; theta), with these variables in this order
  const Kernel* slopes = nullptr;  // its gradient with respect to theta, where that is wanted
  const double* theta;
  int parameters, nugget = -1;  // how many; which one multiplies the noise slopes
  const double* points;         // n x d, column by column, as all matrices are
  Count n;
  int d;
  const double *noise, *noise_slope;  // of each point; null for 0
  double slopes_of_noise = 0;         // how many of its slopes are added to its noise
  double diagonal = 1;                // what the formula's variances are multiplied by
  const double* values = nullptr;     // n x columns
  int columns = 0;
  const int* neighbours;  // stride x sets, see SetJob
  int m, stride;          // the first m of each set are taken
  Count first, sets;
  const double* own =
      nullptr;  // sets x d: the points of the sets, without noise, which follow the n others; first is n
  // rank x (n + sets of own points): see SetJob. Backends other than the CPU do not read factors.
  const double* factors = nullptr;
  int rank = 0;
  Settings settings{};
  // Where a GPU keeps its copies of points, noise, values and neighbours, which are the same at each call with it; but
  // where there are own points, these and neighbours are not.
  std::shared_ptr<BackendCache>* kept = nullptr;
};

struct SetTotals {
  std::vector<double> sums;  // as SetJob says
  Count bad = -1;            // the first set whose covariance is singular
};

}  // namespace kernops
