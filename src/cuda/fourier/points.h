// A periodic grid, and points in the order of its tiles, on the current device.
#pragma once
#include <kernops/jobs/fourier.h>

#include "cuda/copied.h"
#include "fourier/series.h"

namespace kernops {
namespace cuda {

// The grid of a request and its window function.
struct DeviceGrid {
  explicit DeviceGrid(const SeriesRequest& request);
  Count tiles() const { return Count(job.tiles[0]) * job.tiles[1] * job.tiles[2]; }

  const int d;
  const Copied<double> pieces;
  FourierGrid job{};
};

class DevicePoints {
 public:
  // Copies `count` points from x, which have as many coordinates as the request, and sorts the copies by tile.
  DevicePoints(const SeriesRequest& request, const DeviceGrid& grid, const double* x, Count count);

  FourierPoints job{};
  std::vector<int> begins;  // first point of each tile, on the host

 private:
  const Copied<double> sorted_;
  const Copied<int> row_, begin_;
};

// Launches a kernel of cuda/fourier/series.cuh with a thread for each of `count` elements.
void launch_fourier(int d, const char* name, Count count, const void* job);
std::string fourier_text(int d);

}  // namespace cuda
}  // namespace kernops
