// Spreads values at points to a periodic grid on the current device.
#pragma once
#include "cuda/fourier/points.h"

namespace kernops {
namespace cuda {

// The division of the points into units, one for each block. A tile that many points reach has several units.
struct Units {
  Units(const DeviceGrid& grid, const std::vector<int>& begins);  // `begins`: first point of each tile

  std::vector<SpreadUnit> units;
  std::vector<SplitTile> split;
  int places = 0;  // number of partial results
};

class Spreader {
 public:
  Spreader(const DeviceGrid& grid, const DevicePoints& points, double* cells);
  void operator()(const double* values);  // values on the device, one for each row of the points

 private:
  const std::string text_;
  const unsigned threads_;
  const Units all_;
  const Copied<SpreadUnit> units_;
  const Copied<SplitTile> split_;
  const Copied<double> partial_;
  SpreadJob job_{};
};

}  // namespace cuda
}  // namespace kernops
