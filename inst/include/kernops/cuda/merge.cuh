// Computes the result of a row. If the columns are divided into splits, which different blocks reduce, the states of
// the splits are joined in order.
#pragma once
#include <kernops/cuda/fill.cuh>
#include <kernops/cuda/block_pairs.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Row> __device__ void finish(const PairJob& job, long long row, Row& state) {
  state.finish(job.out + row * job.out_row, job.out_entry, job.any_columns);
}

// Returns the factor that all terms of a row's sum have in common. The sum is multiplied by this factor.
template <class Formula> __device__ typename Formula::T shared_factor(const PairJob& job, long long row) {
  using T = typename Formula::T;
  return static_cast<const T*>(job.rows)[row * padded<T>(Formula::row) + Formula::factor];
}

// Writes the result of a row or, if there are several splits, the state of the block's split.
template <class Formula, class Row>
__device__ void hand_over(const PairJob& job, long long row, Row& state, bool any_columns) {
  if constexpr (Formula::factor >= 0)
    if (any_columns) state.scale(shared_factor<Formula>(job, row));
  if constexpr (Formula::entry_factors >= 0)
    if (any_columns) state.scale_entries(static_cast<const typename Formula::T*>(job.once) + Formula::entry_factors);
  if (!job.partials)
    finish(job, row, state);
  else
    assign(static_cast<Row*>(job.partials)[split_of_block() * job.partial_rows + row], state);
}

// Joins every `step`th state from `begin` to `end` - 1, in order. Successive states are `stride` elements apart.
template <class Row>
__device__ void merge_states(Row& state, const Row* states, long long stride, int begin, int end, int step) {
  assign(state, states[begin * stride]);
  for (int split = begin + step; split < end; split += step) state.merge(states[split * stride]);
}

// Joins the states of the splits of a row, in one thread. Writes the result or, if other states remain to be joined,
// the joined state.
template <class Row> __device__ void merge_row(const PairJob& job, long long row, int step) {
  Row* states = static_cast<Row*>(job.partials) + row;
  Row state;
  merge_states(state, states, job.partial_rows, 0, job.splits, step);
  if (job.out)
    finish(job, row, state);
  else
    assign(*states, state);
}

// Several blocks share the same rows, and each of these blocks has one split. The block that ends last joins the splits
// of these rows. Each block increases a counter when it ends. The fences prevent stale reads of data that other blocks
// wrote before they increased this counter.
template <class Row> __device__ void merge_if_last(const PairJob& job, long long begin, long long end) {
  if (!job.arrivals) return;
  __threadfence();
  __syncthreads();
  int* arrivals = job.arrivals + row_block();
  if (!__syncthreads_or(threadIdx.x == 0 && atomicAdd(arrivals, 1) == job.splits - 1)) return;
  __threadfence();
  if (threadIdx.x == 0) *arrivals = 0;  // reset for the next launch
  for (long long row = begin + threadIdx.x; row < end; row += blockDim.x) merge_row<Row>(job, row, 1);
}

// Joins the splits of a row in order: one thread per row or, if there are many splits, one block per row.
template <class Row> __device__ void merge_splits(const PairJob& job) {
  const bool together = job.splits > merged_by_one;
  const long long row = job.row_begin + (together ? blockIdx.x : blockIdx.x * (long long)blockDim.x + threadIdx.x);
  if (row >= job.row_end) return;
  Row* states = static_cast<Row*>(job.partials) + row;
  int step = 1;
  if (together) {
    step = (job.splits + blockDim.x - 1) / blockDim.x;
    const int begin = threadIdx.x * step, end = begin + step < job.splits ? begin + step : job.splits;
    if (begin < job.splits) {
      Row state;
      merge_states(state, states, job.partial_rows, begin, end, 1);
      assign(states[begin * job.partial_rows], state);
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
  }
  merge_row<Row>(job, row, step);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
