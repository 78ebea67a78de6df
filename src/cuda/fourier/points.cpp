#include "cuda/fourier/points.h"

#include "cuda/text.h"
#include "order/sort.h"

namespace kernops {
namespace cuda {
namespace {

// Writes the permutation that sorts `keys` to `rows`, as row numbers that begin with 1.
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

}  // namespace

std::string fourier_text(int d) {
  return "#include <kernops/cuda/fourier/series.cuh>\nKERNOPS_FOURIER(" + number(d) + ")\n";
}

void launch_fourier(int d, const char* name, Count count, const void* job) {
  launch(function(fourier_text(d), name), unsigned(ceil_div(count, Count(fourier_threads))), 1, fourier_threads, job);
}

DeviceGrid::DeviceGrid(const SeriesRequest& request)
    : d(request.grid.d), pieces(request.window.coefficients.data(), request.window.coefficients.size()) {
  for (int a = 0; a < 3; ++a) {
    job.size[a] = int(request.grid.size[size_t(a)]);
    job.tiles[a] = a < d ? int(ceil_div(Count(job.size[a]), Count(fourier_edge(d)))) : 1;
  }
  job.width = request.window.width, job.degree = request.window.degree, job.pieces = pieces.data();
}

DevicePoints::DevicePoints(const SeriesRequest& request, const DeviceGrid& grid, const double* x, Count count)
    : sorted_(size_t(count * grid.d)), row_(size_t(count)), begin_(size_t(grid.tiles() + 1)) {
  const Copied<double> columns(x, size_t(count * grid.d)), position(size_t(count * grid.d)), order{size_t(count)};
  const Copied<float> tile{size_t(count)};
  PlaceJob place{};
  place.grid = grid.job;
  std::copy_n(request.origin, grid.d, place.origin);
  std::copy_n(request.scale, grid.d, place.scale);
  place.x = columns.data(), place.count = int(count), place.position = position.data(), place.tile = tile.data();
  place.order = order.data(), place.sorted = sorted_.data(), place.row = row_.data(), place.begin = begin_.data();
  launch_fourier(grid.d, "kernops_place_points", count, &place);
  sort_rows(tile, count, request.settings, order);
  launch_fourier(grid.d, "kernops_sort_points", count, &place);
  job = {sorted_.data(), row_.data(), begin_.data(), int(count)};
  begins.resize(size_t(grid.tiles() + 1));
  begin_.copy_to(begins.data());
}

}  // namespace cuda
}  // namespace kernops
