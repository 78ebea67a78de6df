// The window function of points on a periodic grid, and the tiles of the grid.
#pragma once
#include <kernops/jobs/fourier.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The window of a point along one coordinate.
struct PointWindow {
  int first;  // first cell, wrapped into the grid
  double s;   // argument of the polynomials, from -1 to 1

  __device__ __forceinline__ PointWindow(const FourierGrid& grid, double position, int size) {
    const double begin = position - 0.5 * grid.width, cell = ceil(begin);
    first = int(cell) + (cell < 0 ? size : 0);
    s = 2 * (cell - begin) - 1;
  }
  // The value in cell j of the window, 0 <= j < width.
  __device__ __forceinline__ double value(const FourierGrid& grid, const double* pieces, int j) const {
    double sum = pieces[grid.degree * grid.width + j];
    for (int k = grid.degree; k-- > 0;) sum = sum * s + pieces[k * grid.width + j];
    return sum;
  }
};

__device__ __forceinline__ int wrapped_cell(int cell, int size) {
  return cell < 0 ? cell + size : cell >= size ? cell - size : cell;
}

template <int D> __device__ __forceinline__ int tile_of(const FourierGrid& grid, const int (&at)[3]) {
  int tile = at[D - 1];
  for (int a = D - 1; a-- > 0;) tile = tile * grid.tiles[a] + at[a];
  return tile;
}

// Loads the coefficients of the window into shared memory.
constexpr int most_coefficients = 16 * 24;
__device__ __forceinline__ void load_pieces(const FourierGrid& grid, double* pieces) {
  const int count = (grid.degree + 1) * grid.width;
  for (int k = threadIdx.x; k < count; k += blockDim.x) pieces[k] = grid.pieces[k];
  __syncthreads();
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
