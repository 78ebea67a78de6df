// Points and a periodic grid: values at points are spread to the grid, and values of the grid are interpolated at the
// points, both by a window that is a product over the coordinates. These are the first and the last step of a
// non-uniform fast Fourier transform.
#pragma once
#include <array>
#include <vector>

#include "run/data.h"
#include "run/huge_pages.h"

namespace kernops {

// A function of a coordinate, in cells of the grid, that is nonzero over `width` cells, in as many pieces, each a
// polynomial in 2 t - 1 of the position t in [0, 1] within its cell.
struct Window {
  static constexpr int most_width = 16;
  int width, degree;
  std::vector<double> coefficients;  // coefficient of power k on piece j: number k * width + j
};

// The number of cells along each coordinate, at least twice Window::most_width; the first coordinate varies fastest.
struct Grid {
  int d;
  std::array<Count, 3> size;
  Count cells() const { return size[0] * size[1] * size[2]; }
};

// Points in the order of strips of the grid along its last coordinate. An even number of strips, each of at least
// Window::most_width cells, lets threads write to every second strip at once.
struct SortedPoints {
  Grid grid;
  int width;
  LargeVector<int> row;          // row of each sorted point
  LargeVector<double> position;  // d numbers for each sorted point: its position in cells, from 0 to the size
  std::vector<Count> first;      // first point of each strip, and the number of points

  // Sorts points with column-major coordinates x; the position of a point is (x - origin) * scale, wrapped into the
  // grid.
  SortedPoints(const double* x, Count n, const double* origin, const double* scale, const Grid& grid, int width,
               const Settings& settings);
  Count strips() const { return Count(first.size()) - 1; }
};

// Adds values[i] times the window around point i to the grid, for each point.
void spread(const SortedPoints& points, const Window& window, const double* values, double* grid,
            const Settings& settings);

// Computes values[i], the sum of the grid times the window around point i.
void interpolate(const SortedPoints& points, const Window& window, const double* grid, double* values,
                 const Settings& settings);

}  // namespace kernops
