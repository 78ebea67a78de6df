// The k nearest columns of each row, or the columns with the smallest inner products. Tensor cores compute lower bounds
// of the distances (cuda/wide/nearest_points.cuh), and each row keeps a list of the columns with the smallest bounds.
// The limit of a row is an upper bound of its k-th smallest distance. Exact distances are computed for listed columns
// whose lower bounds do not exceed the limit. If no bound of a full list exceeds the limit, the list may lack near
// columns. In this case, the host tries bounds with more bits, and finally other kernels.
//
// The generated text has a struct of constants:
//   size, k, listed          entries of the vectors, columns of the result, columns of a list
//   parts                    number of 16-bit numbers that represent one number
//   row, column              offsets of the vectors in their items
//   product                  0: minimise the squared distance; 1 or -1: minimise the inner product times this sign
//   root                     true if results are the roots of squared distances
//   negated                  true if results have the opposite sign
//   values, positions        true if distances (or inner products) are results; true if column numbers are results
#pragma once
#include <kernops/cuda/fill.cuh>
#include <kernops/cuda/wide/nearest_lists.cuh>
#include <kernops/cuda/wide/nearest_results.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The computation of a block: compares a tile of rows (32 rows for each of 4 warps) with the columns of a split (a part
// of the columns), one tile of columns after another.
template <class Nearest> struct NearestTiles {
  using Bounds = BoundsOf<Nearest>;
  static constexpr int threads = 128, chunks = Bounds::chunks, chunk = nearest_tile * 16;
  // If vectors have few chunks of 64 bytes, registers hold the vectors of the rows. If vectors have many chunks,
  // registers hold the sums of all columns of a tile.
  static constexpr bool whole = chunks <= 2;
  static constexpr int groups = whole ? 2 : nearest_tile / 8, at_once = whole ? chunks : 1;
  using Products = NearestProducts<Nearest::size, Nearest::parts, groups>;
  using Lists = ListsOfWarp<Nearest>;

  struct Shared {
    alignas(16) float rows[whole ? 1 : 2][whole ? 4 : chunk], columns[2][at_once * chunk], bounds[2][2 * nearest_tile];
    typename Lists::Shared lists;
  };
  const NearestJob& job;
  Shared& shared;
  const int first_column, tiles, step;
  Lists lists;
  ChunkOfRows x[at_once];

  __device__ __forceinline__ NearestTiles(const NearestJob& job, Shared& shared)
      : job(job),
        shared(shared),
        first_column(blockIdx.y * job.columns_per_split),
        tiles((smaller_of(job.columns_per_split, job.columns.count - first_column) + nearest_tile - 1) / nearest_tile),
        step(job.stride % tiles),
        lists(job, shared.lists) {}
  static __device__ __forceinline__ int smaller_of(int a, int b) { return a < b ? a : b; }
  // The tiles that are processed in succession are far apart in the order of the columns. If tiles were processed in
  // this order, and each column were nearer to a row than the previous column, every column would join the list of the
  // row.
  __device__ __forceinline__ int tile_after(int tile) const {
    const int next = tile + step;
    return next < tiles ? next : next - tiles;
  }

  static __device__ __forceinline__ void send_chunk(float* to, const NearestPoints& points, int first, int c) {
    const int u = threadIdx.x % 4;
    KERNOPS_UNROLL
    for (int p = threadIdx.x / 4; p < nearest_tile; p += threads / 4)
      send(to + unit_of_column<nearest_tile>(0, p, u) * 4,
           points.halves + ((first + p) * (long long)chunks + c) * 16 + u * 4, 16);
  }
  // Loads chunks of a tile of columns, from chunk c on. Also loads the same chunks of the rows if registers do not hold
  // the rows.
  __device__ __forceinline__ void send_columns(int turn, int tile, int c) const {
    if (turn >= tiles) return;
    const int first = first_column + tile * nearest_tile, to = (turn * (chunks / at_once) + c) % 2;
    if (!whole) send_chunk(shared.rows[to], job.rows, lists.first_row, c);
    KERNOPS_EACH(k, at_once) send_chunk(shared.columns[to] + k * chunk, job.columns, first, c + k);
    if (c == 0 && threadIdx.x < nearest_tile / 2)
      send(shared.bounds[turn % 2] + 4 * threadIdx.x, job.columns.bounds + 2 * first + 4 * threadIdx.x, 16);
  }
  // Loads the rows into registers, through shared memory that later holds columns.
  __device__ __forceinline__ void take_rows() {
    KERNOPS_EACH(k, at_once) send_chunk(shared.columns[0] + k * chunk, job.rows, lists.first_row, k);
    wait_for_sent();
    __syncthreads();
    KERNOPS_EACH(k, at_once) x[k].get(shared.columns[0] + k * chunk);
    __syncthreads();
  }

  __device__ __forceinline__ void run() {
    if constexpr (whole) take_rows();
    send_columns(0, 0, 0);
    KERNOPS_UNROLL_BY(1)
    for (int turn = 0, tile = 0; turn < tiles; ++turn) {
      const unsigned limit = lists.limit_of_all();
      const int next = tile_after(tile), first = first_column + tile * nearest_tile;
      if constexpr (whole)
        meet_whole(turn, next, limit, first);
      else
        meet(turn, tile, next, limit, first);
      tile = next;
    }
    lists.join(0);
  }
  __device__ __forceinline__ void meet_whole(int turn, int next, unsigned limit, int first) {
    wait_for_sent();
    __syncthreads();
    send_columns(turn + 1, next, 0);
    lists.lower_limit(limit);
    KERNOPS_UNROLL_BY(1)
    for (int n = 0; n < nearest_tile / 8; n += groups) {
      Products products;
      products.begin(shared.bounds[turn % 2], n);
      KERNOPS_EACH(k, at_once) products.add(x[k], shared.columns[turn % 2] + k * chunk, n);
      lists.template take<groups>(products, first + 8 * n);
    }
  }
  __device__ __forceinline__ void meet(int turn, int tile, int next, unsigned limit, int first) {
    Products products;
    KERNOPS_UNROLL_BY(1)
    for (int c = 0; c < chunks; ++c) {
      const int now = (turn * chunks + c) % 2;
      wait_for_sent();
      __syncthreads();
      if (c + 1 == chunks)
        send_columns(turn + 1, next, 0);
      else
        send_columns(turn, tile, c + 1);
      x[0].get(shared.rows[now]);
      if (c == 0) products.begin(shared.bounds[turn % 2], 0);
      products.add(x[0], shared.columns[now], 0);
    }
    lists.lower_limit(limit);
    lists.template take<groups>(products, first);
  }
};

template <class Nearest> __device__ __forceinline__ void list_nearest(const NearestJob& job) {
  __shared__ typename NearestTiles<Nearest>::Shared shared;
  NearestTiles<Nearest>(job, shared).run();
}

#define KERNOPS_NEAREST_KERNEL(name, ...) \
  extern "C" __global__ void name(const __grid_constant__ kernops::NearestJob job) { kernops::__VA_ARGS__(job); }
#define KERNOPS_NEAREST_KERNELS(Formula, Nearest)                                        \
  KERNOPS_NEAREST_KERNEL(kernops_centre, find_centre<Formula, Nearest>)                  \
  KERNOPS_NEAREST_KERNEL(kernops_norms, find_norms<Formula, Nearest>)                    \
  KERNOPS_NEAREST_KERNEL(kernops_halves, find_halves<Formula, Nearest>)                  \
  KERNOPS_NEAREST_KERNEL(__launch_bounds__(128, 2) kernops_pairs, list_nearest<Nearest>) \
  extern "C" __device__ const int kernops_partial_bytes = 0;                             \
  extern "C" __device__ const int kernops_shared_bytes = 0;
#define KERNOPS_NEAREST_MERGE(Formula, Nearest) KERNOPS_NEAREST_KERNEL(kernops_merge, finish_nearest<Formula, Nearest>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
