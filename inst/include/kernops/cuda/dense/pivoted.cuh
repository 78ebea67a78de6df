// Pivoted Cholesky decomposition on the GPU, in doubles; NVRTC compiles this file. After each column of the matrix,
// these kernels update the diagonal and choose the next pivot, without a transfer of pivots to the host.
#pragma once
#include <kernops/cuda/dense/solve.cuh>

namespace kernops {

// True if pivot a has the larger value or, if the values are equal, the smaller row number.
__device__ inline bool is_ahead(const Pivot& a, const Pivot& b) {
  return a.value > b.value || (a.value == b.value && a.row < b.row);
}

// Finds the best pivot among the pivots that the threads of a block hold. Thread 0 receives the result.
template <int threads> __device__ Pivot join_pivots(Pivot mine) {
  __shared__ Pivot all[threads];
  mine.total = sum_of_block<threads>(mine.total);
  all[threadIdx.x] = mine;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const Pivot other = all[threadIdx.x + half];
    if (is_ahead(other, mine)) mine.row = other.row, mine.value = other.value;
    all[threadIdx.x] = mine;
  }
  return mine;
}

// Replaces column step - 1 of the matrix by the same column of the decomposition, and subtracts the contribution of
// this column from the diagonal; in step 0, there is no column yet. Each block finds the largest entry of the remaining
// diagonal among the rows of the block.
template <int threads> __device__ void take_out_column(const PivotJob& job) {
  __shared__ double at_pivot[PivotJob::most_columns];
  const int last = job.step - 1;
  const Pivot pivot = last < 0 ? Pivot{-1, 1, 0} : job.pivots[last];
  for (int k = threadIdx.x; k < last; k += threads) at_pivot[k] = job.columns[k * job.n + pivot.row];
  __syncthreads();
  const double scale = 1 / sqrt(pivot.value);
  Pivot mine{job.n, -1, 0};
  for (long long row = blockIdx.x * (long long)threads + threadIdx.x; row < job.n;
       row += (long long)threads * job.parts) {
    double left = job.left[row];
    if (last >= 0) {
      double x = job.columns[last * job.n + row];
      for (int k = 0; k < last; ++k) x -= job.columns[k * job.n + row] * at_pivot[k];
      x *= scale;
      job.columns[last * job.n + row] = x;
      left -= x * x;
      if (row == pivot.row || left < 0) left = 0;
      job.left[row] = left;
    }
    mine.total += left;
    if (left > mine.value) mine.row = row, mine.value = left;
  }
  mine = join_pivots<threads>(mine);
  if (threadIdx.x == 0) job.partials[blockIdx.x] = mine;
}

// Each block of take_out_column() has found one diagonal entry. One block finds the largest of these entries, and
// copies the coordinates of its point.
template <int threads> __device__ void choose_pivot(const PivotJob& job) {
  __shared__ long long chosen;
  Pivot mine{job.n, -1, 0};
  for (int part = threadIdx.x; part < job.parts; part += threads) {
    const Pivot other = job.partials[part];
    if (is_ahead(other, mine)) mine.row = other.row, mine.value = other.value;
    mine.total += other.total;
  }
  mine = join_pivots<threads>(mine);
  if (threadIdx.x == 0) {
    if (mine.row == job.n) mine.row = 0;  // all values are NaN
    job.pivots[job.step] = mine;
    chosen = mine.row;
  }
  __syncthreads();
  for (int point = 0; point < job.points; ++point)
    for (int k = threadIdx.x; k < job.sizes[point]; k += threads)
      job.to[point][k] = job.from[point][k * job.n + chosen];
}

// The entry points.
#define KERNOPS_PIVOTED(threads)                               \
  KERNOPS_ENTRY(threads, take_out_column, PivotJob, <threads>) \
  KERNOPS_ENTRY(threads, choose_pivot, PivotJob, <threads>)

}  // namespace kernops
