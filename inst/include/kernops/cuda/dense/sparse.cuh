// Multiplies a sparse inverse U' U of a covariance matrix by blocks of vectors; NVRTC compiles this file. A warp
// computes one entry of U x or of U' x for each vector x, so no two warps add to the same entry. Each sum has a fixed
// order, so every run returns the same bits.
#pragma once
#include <kernops/cuda/dense/entry.cuh>
#include <kernops/jobs/matrix.h>

namespace kernops {

__device__ inline double sum_of_warp(double mine) {
  for (int by = 16; by > 0; by /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, by);
  return mine;
}

// Computes rows of D^-2 (I - B) x, where U = D^-1 (I - B), D is diagonal and B has the weights of the neighbours.
__device__ inline void sparse_forward(const SparseJob& job) {
  const long long point = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32, first = point * job.m;
  if (point >= job.n) return;
  const int lane = threadIdx.x % 32;
  const long long row = job.row[point];
  const double sd = job.sd[point];
  for (int column = 0; column < job.columns; ++column) {
    const double* const x = job.x + column * job.n;
    double mine = 0;
    for (int k = lane; k < job.m; k += 32)
      if (job.near[first + k] >= 0) mine += job.weights[first + k] * x[job.near[first + k]];
    const double mean = sum_of_warp(mine);
    if (lane == 0) job.between[column * job.n + row] = (x[row] - mean) / (sd * sd);
  }
}

// Computes rows of (I - B)' y, where y is the result of sparse_forward().
__device__ inline void sparse_back(const SparseJob& job) {
  const long long point = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / 32;
  if (point >= job.n) return;
  const int lane = threadIdx.x % 32;
  const long long row = job.row[point], end = job.start[point + 1];
  for (int column = 0; column < job.columns; ++column) {
    const double* const x = job.between + column * job.n;
    double mine = 0;
    for (long long k = job.start[point] + lane; k < end; k += 32) {
      const int at = job.entry[k];
      mine += job.weights[at] * x[job.row[at / job.m]];
    }
    const double sum = sum_of_warp(mine);
    if (lane == 0) job.y[column * job.n + row] = x[row] - sum;
  }
}

// The entry points, for several numbers of threads per block.
#define KERNOPS_SPARSE(threads)                       \
  KERNOPS_ENTRY(threads, sparse_forward, SparseJob, ) \
  KERNOPS_ENTRY(threads, sparse_back, SparseJob, )

}  // namespace kernops
