#include <algorithm>
#include <cmath>

#include "fourier/spread.h"
#include "run/parallel_for.h"

namespace kernops {
namespace {

// Wraps a position on a periodic grid into [0, size).
double wrapped(double position, double size) {
  position -= size * std::floor(position / size);
  return position < size ? position : 0;
}

// The first cell of the window around a position; may be negative, before wrapping.
Count first_cell(double position, int width) { return Count(std::ceil(position - 0.5 * width)); }

}  // namespace

// Sorts points by bins. A bin is a strip of the grid along the last coordinate, divided into blocks of 16 cells along
// the last but one coordinate, so that successive points access the same part of the cache.
SortedPoints::SortedPoints(const double* x, Count n, const double* origin, const double* scale, const Grid& g, int w,
                           const Settings& settings)
    : grid(g), width(w), row(size_t(n)), position(size_t(n) * size_t(g.d)) {
  const int d = grid.d, last = d - 1;
  const Count strips = 2 * std::max<Count>(1, grid.size[last] / (2 * Window::most_width));
  const Count blocks = d > 1 ? grid.size[last - 1] / 16 + 1 : 1;
  const auto bin_of = [&](const double* place) {
    Count cell = first_cell(place[last], width);
    if (cell < 0) cell += grid.size[last];
    const Count strip = cell * strips / grid.size[last];
    return strip * blocks + (d > 1 ? Count(place[last - 1]) / 16 : 0);
  };
  LargeVector<int> bin(position.size() / size_t(d));
  LargeVector<double> place(position.size());
  in_parts(n, settings, [&](Count from, Count to) {
    for (Count i = from; i < to; ++i) {
      double* const of_point = &place[size_t(i * d)];
      for (int k = 0; k < d; ++k) of_point[k] = wrapped((x[k * n + i] - origin[k]) * scale[k], double(grid.size[k]));
      bin[size_t(i)] = int(bin_of(of_point));
    }
  });
  std::vector<Count> next(size_t(strips * blocks) + 1, 0);
  for (const int one : bin) ++next[size_t(one) + 1];
  for (size_t b = 1; b < next.size(); ++b) next[b] += next[b - 1];
  for (Count strip = 0; strip <= strips; ++strip) first.push_back(next[size_t(strip * blocks)]);
  for (Count i = 0; i < n; ++i) {
    const Count to = next[size_t(bin[size_t(i)])]++;
    row[size_t(to)] = int(i);
    std::copy_n(&place[size_t(i * d)], d, &position[size_t(to * d)]);
  }
}

}  // namespace kernops
