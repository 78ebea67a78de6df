// Computations with conditioning sets, as requested by R. This file does not depend on R.
#pragma once
#include <kernops/jobs/sets.h>

#include <vector>

#include "run/backend_cache.h"
#include "run/pairs.h"

namespace kernops {

// Points in their order, and the conditioning sets of some of these points.
struct SetRequest {
  const Kernel* covariance;        // stores k(x, y; theta), with the variables theta, x and y in this order
  const Kernel* slopes = nullptr;  // the gradient of k with respect to theta, or null
  const double* theta;
  int parameters, nugget = -1;  // number of parameters; position of the parameter that multiplies the noise slopes
  const double* points;         // n x d, in column-major order, like all matrices
  Count n;
  int d;
  const double *noise, *noise_slope;  // noise of each point; null for 0
  double slopes_of_noise = 0;         // multiple of noise_slope that is added to the noise
  double diagonal = 1;                // factor of k(x, x)
  const double* values = nullptr;     // n x columns
  int columns = 0;
  const int* neighbours;  // a stride x sets matrix, see SetJob
  int m, stride;          // m: number of nearest neighbours to use
  Count first, sets;
  const double* own =
      nullptr;  // sets x d: the sets' own points, which have no noise and follow the n other points; `first` is then n
  // Low-rank factors: a rank x n matrix, or rank x (n + sets) if the sets have their own points, see SetJob. Only the
  // CPU reads the factors.
  const double* factors = nullptr;
  int rank = 0;
  Settings settings{};
  // A GPU's copies of points, noise, values and neighbours, which must be the same in each call with this cache. If the
  // sets have their own points, these points and the neighbours are not cached.
  std::shared_ptr<BackendCache>* kept = nullptr;
};

struct SetTotals {
  std::vector<double> sums;  // see SetJob
  Count bad = -1;            // the first set with a singular covariance
};

}  // namespace kernops
