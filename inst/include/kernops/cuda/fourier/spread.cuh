// Spreads values at points to a periodic grid. A block computes the cells of one tile, or partial sums of these cells
// over a part of the points; each thread keeps some cells in registers. In a fixed order, the block visits all points
// whose windows reach the tile, so every run returns the same bits.
#pragma once
#include <kernops/cuda/fourier/window.cuh>
#include <kernops/cuda/kernel.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <int D> class TileSpread {
 public:
  static constexpr int edge = fourier_edge(D), cells = fourier_tile_cells(D), threads = fourier_tile_threads(D),
                       each = fourier_cells_per_thread, batch = D == 1 ? 8 : 32;

  static __device__ __forceinline__ void run(const SpreadJob& job) {
    const SpreadUnit unit = job.units[blockIdx.x];
    TileSpread spread(job, unit.tile);
    spread.visit(unit.first, unit.count);
    spread.write(unit.place);
  }

  // Sums the partial results of a tile, in their order.
  static __device__ __forceinline__ void merge(const SpreadJob& job) {
    const SplitTile split = job.split[blockIdx.x];
    TileSpread spread(job, split.tile);
    for (int n = 0; n < split.count; ++n)
      KERNOPS_EACH(k, each) spread.sum_[k] += job.partial[(long long)(split.place + n) * cells + spread.cell(k)];
    spread.write(-1);
  }

 private:
  __device__ __forceinline__ TileSpread(const SpreadJob& job, int tile) : job_(job), sum_{} {
    KERNOPS_EACH(a, D) {
      at_[a] = tile % job.grid.tiles[a];
      tile /= job.grid.tiles[a];
    }
  }

  // Returns the index, within the tile, of cell k of this thread. The cells of a thread differ only in the last
  // coordinate; in one dimension, adjacent threads have adjacent cells.
  __device__ __forceinline__ int cell(int k) const {
    constexpr int row = D == 1 ? threads : cells / edge;
    if (D == 1) return threadIdx.x + k * row;
    return int(threadIdx.x) % row + (int(threadIdx.x) / row * each + k) * row;
  }

  // Visits the points with the numbers first .. first + count - 1. The numbers count the points of all tiles from which
  // a window can reach this tile. Along each coordinate, these are this tile and some tiles before this tile, because a
  // window extends from its first cell to later cells.
  __device__ __forceinline__ void visit(int first, int count) {
    __shared__ double pieces[most_coefficients];
    load_pieces(job_.grid, pieces);
    int low[3] = {0, 0, 0}, span[3] = {1, 1, 1};
    KERNOPS_EACH(a, D) near_tiles(job_.grid, a, at_[a], edge, low[a], span[a]);
    const int near = span[0] * span[1] * span[2];
    for (int n = 0; n < near && count > 0; ++n) {
      const int step[3] = {n % span[0], n / span[0] % span[1], n / span[0] / span[1]};
      int from[3] = {0, 0, 0};
      KERNOPS_EACH(a, D) from[a] = (low[a] + step[a]) % job_.grid.tiles[a];
      const int tile = tile_of<D>(job_.grid, from), begin = job_.points.begin[tile],
                here = job_.points.begin[tile + 1] - begin;
      if (first >= here) {
        first -= here;
        continue;
      }
      const int taken = here - first < count ? here - first : count;
      add(begin + first, begin + first + taken, pieces);
      first = 0, count -= taken;
    }
  }

  __device__ __forceinline__ void add(int from, int to, const double* pieces) {
    __shared__ double windows[D][batch][edge];
    for (int first = from; first < to; first += batch) {
      const int count = to - first < batch ? to - first : batch;
      __syncthreads();
      for (int k = threadIdx.x; k < count * D * edge; k += threads) {
        const int cell = k % edge, a = k / edge % D, n = k / (D * edge);
        windows[a][n][cell] = window_value(first + n, a, cell, pieces);
      }
      __syncthreads();
      for (int n = 0; n < count; ++n) add_point(windows, n);
    }
  }

  // Returns the value of a point's window along coordinate a in a cell of this tile. For a == 0, this value is
  // multiplied by the value of the point.
  __device__ __forceinline__ double window_value(int point, int a, int cell, const double* pieces) const {
    const FourierGrid& grid = job_.grid;
    const int size = grid.size[a];
    const PointWindow window(grid, job_.points.position[(long long)point * D + a], size);
    const int j = wrapped_cell(at_[a] * edge + cell - window.first, size);
    if (j >= grid.width) return 0;
    const double value = window.value(grid, pieces, j);
    return a == 0 ? value * job_.values[job_.points.row[point]] : value;
  }

  __device__ __forceinline__ void add_point(const double (&windows)[D][batch][edge], int n) {
    if (D == 1) {
      KERNOPS_EACH(k, each) sum_[k] += windows[0][n][cell(k)];
      return;
    }
    constexpr int row = cells / edge;
    const int inner = threadIdx.x % row, last = threadIdx.x / row * each;
    double weight = windows[0][n][inner % edge];
    if (D == 3) weight *= windows[1 % D][n][inner / edge];
    KERNOPS_EACH(k, each) sum_[k] += weight * windows[D - 1][n][last + k];
  }

  __device__ __forceinline__ void write(int place) const {
    if (place >= 0) {
      KERNOPS_EACH(k, each) job_.partial[(long long)place * cells + cell(k)] = sum_[k];
      return;
    }
    KERNOPS_EACH(k, each) {
      int rest = cell(k);
      long long to = 0, stride = 1;
      bool inside = true;
      KERNOPS_EACH(a, D) {
        const int along = at_[a] * edge + rest % edge;
        rest /= edge;
        inside = inside && along < job_.grid.size[a];
        to += along * stride, stride *= job_.grid.size[a];
      }
      if (inside) job_.cells[to] = sum_[k];
    }
  }

  const SpreadJob& job_;
  int at_[3];
  double sum_[each];
};

// Multiplies the modes of a grid by a factor.
__device__ __forceinline__ void multiply_modes(const FactorJob& job) {
  const long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= job.count) return;
  const double re = job.modes[2 * n], im = job.modes[2 * n + 1], c = job.factor[2 * n], s = job.factor[2 * n + 1];
  job.modes[2 * n] = re * c - im * s;
  job.modes[2 * n + 1] = re * s + im * c;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
