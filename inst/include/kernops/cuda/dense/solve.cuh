// Operations of iterative solvers on blocks of vectors on the GPU, in doubles; NVRTC compiles this file. A kernel
// processes all columns of a block of vectors. Sums use no atomic operations, and their order depends only on the
// number of rows, so every run returns the same bits.
#pragma once
#include <kernops/cuda/dense/entry.cuh>
#include <kernops/jobs/matrix.h>

namespace kernops {

// Sums the values of a block of threads pairwise; thread 0 receives the sum.
template <int threads> __device__ double sum_of_block(double mine) {
  __shared__ double all[threads];
  __syncthreads();  // waits until all threads have read the previous sum
  all[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
  }
  return all[0];
}

// Computes y = a x + b y, where a and b have a number for each column. Thread n processes row n.
__device__ inline void axpby(const VectorJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n >= job.rows) return;
  for (int column = blockIdx.y; column < job.columns; column += gridDim.y) {
    const long long at = column * job.rows + n;
    job.y[at] = job.a[column] * job.x[at] + job.b[column] * job.y[at];
  }
}

// Computes y = y + d x, where d has a number for each row.
__device__ inline void add_rows(const VectorJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n >= job.rows) return;
  for (int column = blockIdx.y; column < job.columns; column += gridDim.y) {
    const long long at = column * job.rows + n;
    job.y[at] += job.a[n] * job.x[at];
  }
}

// Computes parts of the inner product of each column of x with the same column of y. Block m adds up part m of the
// rows.
template <int threads> __device__ void dot_parts(const VectorJob& job) {
  for (int column = blockIdx.y; column < job.columns; column += gridDim.y) {
    const double *x = job.x + column * job.rows, *y = job.y + column * job.rows;
    double mine = 0;
    for (long long n = blockIdx.x * (long long)threads + threadIdx.x; n < job.rows; n += (long long)threads * job.parts)
      mine += x[n] * y[n];
    const double part = sum_of_block<threads>(mine);
    if (threadIdx.x == 0) job.partials[(long long)column * job.parts + blockIdx.x] = part;
  }
}

// The second pass after dot_parts(): block m adds the parts of column m.
template <int threads> __device__ void dot_sums(const VectorJob& job) {
  for (int column = blockIdx.x; column < job.columns; column += gridDim.x) {
    double mine = 0;
    for (int part = threadIdx.x; part < job.parts; part += threads)
      mine += job.partials[(long long)column * job.parts + part];
    const double sum = sum_of_block<threads>(mine);
    if (threadIdx.x == 0) job.sums[column] = sum;
  }
}

// Computes parts of the inner products of all columns of x with all columns of y. A block computes tile x tile inner
// products for part of the rows.
template <int threads, int tile> __device__ void inner_parts(const VectorJob& job) {
  const int across = (job.inner + tile - 1) / tile, tiles = across * ((job.columns + tile - 1) / tile);
  for (int which = blockIdx.y; which < tiles; which += gridDim.y) {
    const int left = which % across * tile, right = which / across * tile;
    double mine[tile][tile] = {};
    for (long long n = blockIdx.x * (long long)threads + threadIdx.x; n < job.rows;
         n += (long long)threads * job.parts) {
      double x[tile], y[tile];
      for (int k = 0; k < tile; ++k) {
        x[k] = left + k < job.inner ? job.x[(left + k) * job.rows + n] : 0;
        y[k] = right + k < job.columns ? job.y[(right + k) * job.rows + n] : 0;
      }
      for (int k = 0; k < tile; ++k)
        for (int l = 0; l < tile; ++l) mine[k][l] += x[k] * y[l];
    }
    for (int k = 0; k < tile; ++k)
      for (int l = 0; l < tile; ++l) {
        const double part = sum_of_block<threads>(mine[k][l]);
        if (threadIdx.x > 0 || left + k >= job.inner || right + l >= job.columns) continue;
        job.partials[((right + l) * (long long)job.inner + left + k) * job.parts + blockIdx.x] = part;
      }
  }
}

// Computes y = x A, where A is a matrix with `inner` rows and `columns` columns. Thread n computes row n, `tile`
// columns at a time.
template <int tile> __device__ void combine(const VectorJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n >= job.rows) return;
  for (int first = blockIdx.y * tile; first < job.columns; first += gridDim.y * tile) {
    double mine[tile] = {};
    for (int k = 0; k < job.inner; ++k) {
      const double x = job.x[k * job.rows + n];
      for (int l = 0; l < tile; ++l)
        if (first + l < job.columns) mine[l] += x * job.a[(first + l) * (long long)job.inner + k];
    }
    for (int l = 0; l < tile; ++l)
      if (first + l < job.columns) job.y[(first + l) * job.rows + n] = mine[l];
  }
}

// The entry points, for several numbers of threads per block and widths of tiles.
#define KERNOPS_SOLVE(threads, tile)                              \
  KERNOPS_ENTRY(threads, axpby, VectorJob, )                      \
  KERNOPS_ENTRY(threads, dot_parts, VectorJob, <threads>)         \
  KERNOPS_ENTRY(threads, dot_sums, VectorJob, <threads>)          \
  KERNOPS_ENTRY(threads, add_rows, VectorJob, )                   \
  KERNOPS_ENTRY(threads, inner_parts, VectorJob, <threads, tile>) \
  KERNOPS_ENTRY(threads, combine, VectorJob, <tile>)

}  // namespace kernops
