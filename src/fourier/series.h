// Sums of a kernel by its Fourier series, in the form in which R requests these sums from a backend.
#pragma once
#include <complex>

#include "fourier/spread.h"

namespace kernops {

// For each point x, the sum over the points y of b times the kernel of x and y. The values b are spread to the grid,
// the Fourier transform of the grid is multiplied by `factor`, and the inverse transform is interpolated at the points
// x.
struct SeriesRequest {
  Grid grid;
  Window window;
  const double *x, *y;  // m x d and n x d, column-major; x == y if the points are the same
  Count m, n;
  const double *origin, *scale;  // the position of a point in cells is (x - origin) * scale, wrapped into the grid
  const double* b;               // n x columns
  Count columns;
  // the factor of each frequency, divided by the number of cells; only the nonnegative frequencies of the first
  // coordinate, because the grid is real
  const std::complex<double>* factor;
  double* to;  // m x columns
  const Settings& settings;

  Count frequencies() const { return (grid.size[0] / 2 + 1) * grid.size[1] * grid.size[2]; }
};

}  // namespace kernops
