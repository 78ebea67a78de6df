#include "fourier/spread.h"

#include <algorithm>
#include <cmath>

#include "run/parallel_for.h"

namespace kernops {
namespace {

// The window function of one point along one coordinate: the cells, wrapped into the grid, and the value in each cell.
// There are W values, which are 0 beyond the width of the window.
template <int W> struct Values {
  double value[W];
  Count cell[W];
};

template <int W>
void evaluate(const Window& window, const double* coefficients, double position, Count size, Values<W>& to) {
  const double begin = position - 0.5 * window.width, cell = std::ceil(begin), s = 2 * (cell - begin) - 1;
  const double* c = coefficients + window.degree * W;
  for (int j = 0; j < W; ++j) to.value[j] = c[j];
  for (int k = window.degree; k-- > 0;) {
    c -= W;
    for (int j = 0; j < W; ++j) to.value[j] = to.value[j] * s + c[j];
  }
  Count at = Count(cell) < 0 ? Count(cell) + size : Count(cell);
  for (int j = 0; j < W; ++j) {
    to.cell[j] = at;
    if (++at == size) at = 0;
  }
}

// Visits the cells under the windows of points, for windows of at most W cells. The cells along the first coordinate
// are adjacent in memory, unless the window crosses the end of the periodic grid.
template <int W> class Walk {
 public:
  Walk(const SortedPoints& points, const Window& window) : points_(points), window_(window) {
    coefficients_.assign(size_t(window.degree + 1) * W, 0.0);
    for (int k = 0; k <= window.degree; ++k)
      std::copy_n(&window.coefficients[size_t(k * window.width)], window.width, &coefficients_[size_t(k * W)]);
  }

  // Calls row(weight, offset) for each row of cells under the window of a sorted point, where `offset` is the position
  // of the row in the grid, and `weight` the product of the window functions along the other coordinates. `along`
  // receives the values of the window function along the first coordinate.
  template <class Row> void around(Count point, Values<W>& along, const Row& row) const {
    const Grid& grid = points_.grid;
    const double* const position = &points_.position[size_t(point * grid.d)];
    evaluate<W>(window_, coefficients_.data(), position[0], grid.size[0], along);
    if (grid.d == 1) return row(1.0, 0);
    Values<W> second, third;
    evaluate<W>(window_, coefficients_.data(), position[1], grid.size[1], second);
    if (grid.d == 2) {
      for (int j = 0; j < window_.width; ++j) row(second.value[j], second.cell[j] * grid.size[0]);
      return;
    }
    evaluate<W>(window_, coefficients_.data(), position[2], grid.size[2], third);
    for (int k = 0; k < window_.width; ++k)
      for (int j = 0; j < window_.width; ++j)
        row(third.value[k] * second.value[j], (third.cell[k] * grid.size[1] + second.cell[j]) * grid.size[0]);
  }

  void spread(Count from, Count to, const double* values, double* grid) const {
    const Count size = points_.grid.size[0];
    Values<W> along;
    double scaled[W];
    for (Count p = from; p < to; ++p) {
      const double weight = values[points_.row[size_t(p)]];
      around(p, along, [&](double factor, Count offset) {
        for (int j = 0; j < W; ++j) scaled[j] = along.value[j] * (factor * weight);
        double* const line = grid + offset;
        if (along.cell[0] + W <= size) {
          double* const to_line = line + along.cell[0];
          for (int j = 0; j < W; ++j) to_line[j] += scaled[j];
        } else {
          for (int j = 0; j < window_.width; ++j) line[along.cell[j]] += scaled[j];
        }
      });
    }
  }

  void interpolate(Count from, Count to, const double* grid, double* values) const {
    const Count size = points_.grid.size[0];
    Values<W> along;
    for (Count p = from; p < to; ++p) {
      double sums[W] = {};
      around(p, along, [&](double factor, Count offset) {
        const double* const line = grid + offset;
        if (along.cell[0] + W <= size) {
          const double* const from_line = line + along.cell[0];
          for (int j = 0; j < W; ++j) sums[j] += factor * from_line[j];
        } else {
          for (int j = 0; j < window_.width; ++j) sums[j] += factor * line[along.cell[j]];
        }
      });
      double total = 0;
      for (int j = 0; j < W; ++j) total += sums[j] * along.value[j];
      values[points_.row[size_t(p)]] = total;
    }
  }

 private:
  const SortedPoints& points_;
  const Window& window_;
  std::vector<double> coefficients_;
};

template <class Body> void with_width(const SortedPoints& points, const Window& window, const Body& body) {
  if (window.width <= 4) return body(Walk<4>(points, window));
  if (window.width <= 6) return body(Walk<6>(points, window));
  if (window.width <= 8) return body(Walk<8>(points, window));
  if (window.width <= 12) return body(Walk<12>(points, window));
  body(Walk<Window::most_width>(points, window));
}

}  // namespace

void spread(const SortedPoints& points, const Window& window, const double* values, double* grid,
            const Settings& settings) {
  with_width(points, window, [&](const auto& walk) {
    for (Count odd = 0; odd < 2; ++odd) {
      const Count units = points.strips() / 2;
      parallel_for(units, std::min<Count>(settings.threads, units), settings, [&](Count unit, Count) {
        const Count strip = 2 * unit + odd;
        walk.spread(points.first[size_t(strip)], points.first[size_t(strip) + 1], values, grid);
      });
    }
  });
}

void interpolate(const SortedPoints& points, const Window& window, const double* grid, double* values,
                 const Settings& settings) {
  with_width(points, window, [&](const auto& walk) {
    in_parts(
        Count(points.row.size()), settings, [&](Count from, Count to) { walk.interpolate(from, to, grid, values); },
        1 << 12);
  });
}

}  // namespace kernops
