// Sums of a kernel by its Fourier series on the first device (fourier/series.h). The kernels are those of
// cuda/fourier/series.cuh; cuFFT transforms the grid.
#include "cuda/fft.h"
#include "cuda/fourier/spreader.h"

namespace kernops {
namespace cuda {
namespace {

// Returns whether the points and the grid fit into half of the free memory.
bool fits(const SeriesRequest& request) {
  const size_t each = size_t(3 * request.grid.d + 4) * sizeof(double);
  const size_t grid = 6 * size_t(request.grid.cells()) * sizeof(double);
  const size_t bytes = size_t(request.m + request.n) * each + grid;
  if (bytes > memory_left() / 2) collect_garbage();
  return bytes <= memory_left() / 2;
}

}  // namespace

bool series(const SeriesRequest& request) {
  if (!has_fft() || request.m == 0 || request.n == 0) return false;
  use_device(request.settings.devices.at(0));
  if (!fits(request)) return false;
  const DeviceGrid grid(request);
  const DevicePoints from(request, grid, request.y, request.n);
  std::unique_ptr<DevicePoints> others;
  if (request.x != request.y) others = std::make_unique<DevicePoints>(request, grid, request.x, request.m);
  const DevicePoints& to = others ? *others : from;

  const size_t frequencies = size_t(request.frequencies());
  const Copied<double> cells(size_t(request.grid.cells())), modes(2 * frequencies);
  const Copied<double> factor(reinterpret_cast<const double*>(request.factor), 2 * frequencies);
  const Copied<double> values(size_t(request.n)), sums(size_t(request.m));
  const RealTransforms transforms(std::vector<int>(grid.job.size, grid.job.size + grid.d));
  Spreader spread(grid, from, cells.data());
  const FactorJob multiply{modes.data(), factor.data(), Count(frequencies)};
  const InterpolateJob interpolate{grid.job, to.job, cells.data(), sums.data()};
  for (Count column = 0; column < request.columns; ++column) {
    values.put(0, request.b + column * request.n, size_t(request.n));
    spread(values.data());
    transforms.forward(cells.data(), modes.data());
    launch_fourier(grid.d, "kernops_multiply_modes", Count(frequencies), &multiply);
    transforms.inverse(modes.data(), cells.data());
    launch_fourier(grid.d, "kernops_interpolate", request.m, &interpolate);
    sums.copy_to(request.to + column * request.m);
    const double done = double(column + 1) / double(request.columns);
    if (request.settings.keep_going && !request.settings.keep_going(done)) throw Interrupted();
  }
  return true;
}

}  // namespace cuda
}  // namespace kernops
