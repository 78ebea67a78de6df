// The first and the last step of a non-uniform fast Fourier transform: values at points are spread to a periodic grid,
// and values on the grid are interpolated at the points. Both steps use a window function that is a product over the
// coordinates.
#pragma once
#include <array>
#include <vector>

#include "run/data.h"
#include "run/huge_pages.h"

namespace kernops {

// A window function of one coordinate, measured in cells of the grid. The function is nonzero over `width` cells. In
// each cell, the function is a polynomial in 2 t - 1, where t in [0, 1] is the position within the cell.
struct Window {
  static constexpr int most_width = 16, most_degree = 23;
  int width, degree;
  std::vector<double> coefficients;  // coefficient of power k in cell j is element k * width + j
};

// The size of a grid: the number of cells along each coordinate, at least 2 * Window::most_width. The first coordinate
// varies fastest.
struct Grid {
  int d;
  std::array<Count, 3> size;
  Count cells() const { return size[0] * size[1] * size[2]; }
};

// Points, sorted by strips of the grid along its last coordinate. There is an even number of strips with at least
// Window::most_width cells each, so that threads can write to all even strips, and then to all odd strips, without
// conflicts.
struct SortedPoints {
  Grid grid;
  int width;
  LargeVector<int> row;          // row of each sorted point
  LargeVector<double> position;  // d coordinates of each sorted point in units of cells, from 0 to the size
  std::vector<Count> first;      // first point of each strip; last element: number of points

  // Sorts points with column-major coordinates x. The position of a point in cells is (x - origin) * scale, wrapped
  // into the grid.
  SortedPoints(const double* x, Count n, const double* origin, const double* scale, const Grid& grid, int width,
               const Settings& settings);
  Count strips() const { return Count(first.size()) - 1; }
};

// For each point i, adds values[i] times the window around the point to the grid.
void spread(const SortedPoints& points, const Window& window, const double* values, double* grid,
            const Settings& settings);

// For each point i, sets values[i] to the sum over all cells of the cell's value times the window around the point.
void interpolate(const SortedPoints& points, const Window& window, const double* grid, double* values,
                 const Settings& settings);

}  // namespace kernops
