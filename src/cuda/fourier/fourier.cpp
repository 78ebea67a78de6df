// Sums of a kernel by its Fourier series on the first device (fourier/series.h). The kernels are those of
// cuda/fourier/series.cuh; cuFFT transforms the grid.
#include <kernops/jobs/fourier.h>

#include "cuda/copied.h"
#include "cuda/fft.h"
#include "cuda/segments/segments.h"
#include "cuda/text.h"
#include "fourier/series.h"

namespace kernops {
namespace cuda {
namespace {

constexpr int most_in_unit = 4096;  // points of a SpreadUnit

std::string text_of(int d) {
  return "#include <kernops/cuda/fourier/series.cuh>\nKERNOPS_FOURIER(" + number(d) + ")\n";
}

unsigned blocks_of(Count threads) { return unsigned(ceil_div(threads, Count(fourier_threads))); }

// The grid and its window function on the device.
struct DeviceGrid {
  explicit DeviceGrid(const SeriesRequest& request)
      : d(request.grid.d), pieces(request.window.coefficients.data(), request.window.coefficients.size()) {
    for (int a = 0; a < 3; ++a) {
      job.size[a] = int(request.grid.size[size_t(a)]);
      job.tiles[a] = a < d ? int(ceil_div(Count(job.size[a]), Count(fourier_edge(d)))) : 1;
    }
    job.width = request.window.width, job.degree = request.window.degree, job.pieces = pieces.data();
  }
  Count tiles() const { return Count(job.tiles[0]) * job.tiles[1] * job.tiles[2]; }

  const int d;
  const Copied<double> pieces;
  FourierGrid job{};
};

// Writes the permutation that sorts numbers on the device, as rows from 1.
void sort_rows(const Copied<float>& keys, Count count, const Settings& settings, const Copied<double>& rows) {
  Segments all;
  all.values = count;
  all.set_lengths({count}, 0, {});
  SortRequest request{all, {}};
  request.x.type = SegmentValues::floats, request.x.on_device = true, request.x.data = keys.data();
  request.result = SortRequest::rows, request.settings = settings;
  request.out = {rows.data(), count, 1, MemorySpace::device_double, current_device().number};
  sort(request);
}

// Points in the order of their tiles, on the device.
class DevicePoints {
 public:
  DevicePoints(const SeriesRequest& request, const DeviceGrid& grid, const double* x, Count count)
      : sorted_(size_t(count * grid.d)), row_(size_t(count)), begin_(size_t(grid.tiles() + 1)) {
    const Copied<double> columns(x, size_t(count * grid.d)), position(size_t(count * grid.d));
    const Copied<float> tile{size_t(count)};
    PlaceJob place{};
    place.grid = grid.job;
    std::copy_n(request.origin, grid.d, place.origin);
    std::copy_n(request.scale, grid.d, place.scale);
    place.x = columns.data(), place.count = int(count), place.position = position.data(), place.tile = tile.data();
    launch(function(text_of(grid.d), "kernops_place_points"), blocks_of(count), 1, fourier_threads, &place);
    const Copied<double> order{size_t(count)};
    sort_rows(tile, count, request.settings, order);
    place.order = order.data(), place.sorted = sorted_.data(), place.row = row_.data(), place.begin = begin_.data();
    launch(function(text_of(grid.d), "kernops_sort_points"), blocks_of(count), 1, fourier_threads, &place);
    job = {sorted_.data(), row_.data(), begin_.data(), int(count)};
    begins.resize(size_t(grid.tiles() + 1));
    begin_.copy_to(begins.data());
  }

  FourierPoints job{};
  std::vector<int> begins;  // first point of each tile, on the host

 private:
  const Copied<double> sorted_;
  const Copied<int> row_, begin_;
};

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

// The division of points among blocks. A tile that many points reach has several units.
struct Units {
  Units(const DeviceGrid& grid, const std::vector<int>& begins) {
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
  std::vector<SpreadUnit> units;
  std::vector<SplitTile> split;
  int places = 0;
};

// Spreads values at points to the grid `cells`.
class Spreader {
 public:
  Spreader(const DeviceGrid& grid, const DevicePoints& points, double* cells)
      : text_(text_of(grid.d)),
        threads_(unsigned(fourier_tile_threads(grid.d))),
        all_(grid, points.begins),
        units_(all_.units.data(), all_.units.size()),
        split_(all_.split.data(), all_.split.size()),
        partial_(size_t(all_.places) * size_t(fourier_tile_cells(grid.d))) {
    job_ = {grid.job, points.job, nullptr, units_.data(), split_.data(), partial_.data(), cells};
  }
  void operator()(const double* values) {
    job_.values = values;
    launch(function(text_, "kernops_spread"), unsigned(all_.units.size()), 1, threads_, &job_);
    if (all_.split.empty()) return;
    launch(function(text_, "kernops_merge_tiles"), unsigned(all_.split.size()), 1, threads_, &job_);
  }

 private:
  const std::string text_;
  const unsigned threads_;
  const Units all_;
  const Copied<SpreadUnit> units_;
  const Copied<SplitTile> split_;
  const Copied<double> partial_;
  SpreadJob job_{};
};

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

  const std::string text = text_of(grid.d);
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
    launch(function(text, "kernops_multiply_modes"), blocks_of(Count(frequencies)), 1, fourier_threads, &multiply);
    transforms.inverse(modes.data(), cells.data());
    launch(function(text, "kernops_interpolate"), blocks_of(request.m), 1, fourier_threads, &interpolate);
    sums.copy_to(request.to + column * request.m);
    const double done = double(column + 1) / double(request.columns);
    if (request.settings.keep_going && !request.settings.keep_going(done)) throw Interrupted();
  }
  return true;
}

}  // namespace cuda
}  // namespace kernops
