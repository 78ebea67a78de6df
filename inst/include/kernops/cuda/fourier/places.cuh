// Positions of points on a periodic grid, and points in the order of their tiles.
#pragma once
#include <kernops/cuda/fourier/window.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// One thread computes the position of a point and the tile to which it belongs.
template <int D> __device__ void place_points(const PlaceJob& job) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= job.count) return;
  int at[3] = {0, 0, 0};
  KERNOPS_EACH(a, D) {
    const int size = job.grid.size[a];
    double position = (job.x[(long long)a * job.count + i] - job.origin[a]) * job.scale[a];
    position -= size * floor(position / size);
    if (!(position < size)) position = 0;
    job.position[(long long)i * D + a] = position;
    at[a] = PointWindow(job.grid, position, size).first / fourier_edge(D);
  }
  job.tile[i] = float(tile_of<D>(job.grid, at));
}

// One thread copies a sorted point. The thread of the first point of a tile stores this point as the first point of the
// tile, and also as the first point of the empty tiles before this tile.
template <int D> __device__ void sort_points(const PlaceJob& job) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= job.count) return;
  const int row = int(job.order[n]) - 1, tile = int(job.tile[row]);
  const int before = n > 0 ? int(job.tile[int(job.order[n - 1]) - 1]) : -1;
  job.row[n] = row;
  KERNOPS_EACH(a, D) job.sorted[(long long)n * D + a] = job.position[(long long)row * D + a];
  for (int t = before + 1; t <= tile; ++t) job.begin[t] = n;
  if (n < job.count - 1) return;
  const int tiles = job.grid.tiles[0] * job.grid.tiles[1] * job.grid.tiles[2];
  for (int t = tile + 1; t <= tiles; ++t) job.begin[t] = job.count;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
