#include "cuda/fourier/spreader.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int most_in_unit = 4096;  // maximum number of points that one block adds to a tile

// The number of points whose windows reach a tile.
int points_near(const DeviceGrid& grid, const std::vector<int>& begins, int tile) {
  int low[3] = {0, 0, 0}, span[3] = {1, 1, 1}, count = 0;
  for (int a = 0, rest = tile; a < grid.d; rest /= grid.job.tiles[a++])
    near_tiles(grid.job, a, rest % grid.job.tiles[a], fourier_edge(grid.d), low[a], span[a]);
  const auto wrapped = [&](int a, int step) { return (low[a] + step) % grid.job.tiles[a]; };
  for (int k = 0; k < span[2]; ++k)
    for (int j = 0; j < span[1]; ++j)
      for (int i = 0; i < span[0]; ++i) {
        const int near = (wrapped(2, k) * grid.job.tiles[1] + wrapped(1, j)) * grid.job.tiles[0] + wrapped(0, i);
        count += begins[size_t(near) + 1] - begins[size_t(near)];
      }
  return count;
}

}  // namespace

Units::Units(const DeviceGrid& grid, const std::vector<int>& begins) {
  for (int tile = 0; tile < int(grid.tiles()); ++tile) {
    const int count = points_near(grid, begins, tile), parts = (count - 1) / most_in_unit + 1;
    if (parts <= 1) {
      units.push_back({tile, 0, count, -1});
      continue;
    }
    split.push_back({tile, places, parts});
    for (int part = 0; part < parts; ++part) {
      const int first = part * most_in_unit;
      units.push_back({tile, first, std::min(most_in_unit, count - first), places++});
    }
  }
}

Spreader::Spreader(const DeviceGrid& grid, const DevicePoints& points, double* cells)
    : text_(fourier_text(grid.d)),
      threads_(unsigned(fourier_tile_threads(grid.d))),
      all_(grid, points.begins),
      units_(all_.units.data(), all_.units.size()),
      split_(all_.split.data(), all_.split.size()),
      partial_(size_t(all_.places) * size_t(fourier_tile_cells(grid.d))) {
  job_ = {grid.job, points.job, nullptr, units_.data(), split_.data(), partial_.data(), cells};
}

void Spreader::operator()(const double* values) {
  job_.values = values;
  launch(function(text_, "kernops_spread"), unsigned(all_.units.size()), 1, threads_, &job_);
  if (all_.split.empty()) return;
  launch(function(text_, "kernops_merge_tiles"), unsigned(all_.split.size()), 1, threads_, &job_);
}

}  // namespace cuda
}  // namespace kernops
