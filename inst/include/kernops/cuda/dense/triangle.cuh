// Operations of the exact Gaussian process on the lower triangle of a matrix on the GPU, in doubles; NVRTC compiles
// this file. Sums have a fixed order.
#pragma once
#include <kernops/cuda/dense/solve.cuh>

namespace kernops {

// Adds the vector `left` to the diagonal, and sets entries above the diagonal to 0 within each diagonal block of size
// `width`. Padding rows (from row n on) become rows of the unit matrix. One thread per row.
template <int width> __device__ void finish_triangle(const TriangleJob& job) {
  const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= job.order) return;
  const bool beyond = row >= job.n;
  double& pivot = job.at[row * (job.order + 1)];
  pivot = beyond ? 1 : pivot + job.left[row];
  for (long long column = 0; beyond && column < row; ++column) job.at[column * job.order + row] = 0;
  const long long end = (row / width + 1) * width;
  for (long long column = row + 1; column < end && column < job.order; ++column) job.at[column * job.order + row] = 0;
}

// Copies the diagonal and computes the sum of squares of each column; one block per column.
template <int threads> __device__ void column_squares(const TriangleJob& job) {
  for (long long column = blockIdx.x; column < job.n; column += gridDim.x) {
    double mine = 0;
    for (long long row = column + threadIdx.x; row < job.n; row += threads) {
      const double x = job.at[column * job.order + row];
      mine += x * x;
    }
    const double sum = sum_of_block<threads>(mine);
    if (threadIdx.x > 0) continue;
    job.out[column] = job.at[column * (job.order + 1)];
    job.out[job.n + column] = sum;
  }
}

// Copies some columns of the matrix, from column `first` and row `first` on, to `block`. Entries above the diagonal
// become 0, and so do columns beyond the last column of the matrix.
__device__ inline void take_columns(const TriangleJob& job) {
  const long long rows = job.order - job.first, row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int column = blockIdx.y; column < job.columns; column += gridDim.y) {
    const bool there = row >= column && job.first + column < job.order;
    const long long from = (job.first + column) * job.order + job.first + row;
    job.block[column * rows + row] = there ? job.at[from] : 0;
  }
}

// Subtracts the matrix product left right' from the columns of a symmetric matrix in `block`, and converts the
// difference to weights of a sum over the lower triangle. For this purpose, entries below the diagonal are doubled, and
// entries above the diagonal become 0.
__device__ inline void weigh_columns(const TriangleJob& job) {
  const long long rows = job.order - job.first, row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int column = blockIdx.y; column < job.columns; column += gridDim.y) {
    double& weight = job.block[column * rows + row];
    double value = weight;
    if (row >= column && job.first + row < job.n)
      for (int k = 0; k < job.rank; ++k)
        value -= job.left[k * job.n + job.first + row] * job.right[k * job.n + job.first + column];
    weight = row < column || job.first + row >= job.n ? 0 : row == column ? value : 2 * value;
  }
}

// Computes the sum of each column of `block`, which is a matrix with n rows.
template <int threads> __device__ void column_sums(const TriangleJob& job) {
  for (int column = blockIdx.x; column < job.columns; column += gridDim.x) {
    double mine = 0;
    for (long long row = threadIdx.x; row < job.n; row += threads) mine += job.block[column * job.n + row];
    const double sum = sum_of_block<threads>(mine);
    if (threadIdx.x == 0) job.out[column] = sum;
  }
}

// The entry points, for several numbers of threads per block and columns per block.
#define KERNOPS_TRIANGLE(threads, width)                         \
  KERNOPS_ENTRY(threads, finish_triangle, TriangleJob, <width>)  \
  KERNOPS_ENTRY(threads, column_squares, TriangleJob, <threads>) \
  KERNOPS_ENTRY(threads, take_columns, TriangleJob, )            \
  KERNOPS_ENTRY(threads, weigh_columns, TriangleJob, )           \
  KERNOPS_ENTRY(threads, column_sums, TriangleJob, <threads>)

}  // namespace kernops
