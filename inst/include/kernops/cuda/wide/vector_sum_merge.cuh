// Joins the totals of the splits (parts of the columns), and writes the results of sums of long vectors
// (cuda/wide/vector_sum.cuh).
#pragma once
#include <kernops/cuda/wide/vector_sum_shift.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The splits of a row (parts of its columns), if the scalars are exponentials. Each split has subtracted its own shift
// from the exponents. Joined totals are relative to `shift`, the largest shift of all splits.
template <class Formula, class Row> struct ShiftedSplits {
  using T = typename Formula::T;
  using Powers = typename Formula::Powers;
  Row* const states;
  const PairJob& job;
  T shift = Powers::lowest();

  __device__ ShiftedSplits(Row* states, const PairJob& job) : states(states), job(job) {
    for (int split = 0; split < job.splits; ++split) shift = larger(shift_of(split), shift);
  }
  __device__ Row* entry(int split, int k) const {
    return states + (split * (long long)kept_totals<Formula>() + k) * job.partial_rows;
  }
  __device__ T& shift_of(int split) const { return kept_shift<Formula>(entry(split, 0), job.partial_rows); }
  __device__ Row joined(int k) const {
    Row all;
    all.start();
    for (int split = 0; split < job.splits; ++split) {
      Row state = *entry(split, k);
      state.scale(Powers::change(shift_of(split), shift));
      all.merge(state);
    }
    return all;
  }
};
// Joins the splits of a row, with several threads of a warp. One of these threads writes the new shift after all
// threads have read the old shifts.
template <class Formula, class Row> __device__ void merge_shifted_sum(const PairJob& job) {
  using Powers = typename Formula::Powers;
  constexpr int size = Formula::VectorSum::size, first = Powers::gives_top;
  const int blocks = job.out ? (size + merged_entries - 1) / merged_entries : 1, block = blockIdx.x % blocks;
  const long long row = job.row_begin + blockIdx.x / blocks * (long long)merged_rows + threadIdx.x / merged_entries;
  const bool exists = row < job.row_end;
  const ShiftedSplits<Formula, Row> splits(static_cast<Row*>(job.partials) + (exists ? row : job.row_begin), job);
  Row mass = splits.joined(size);
  double total;
  mass.finish(&total, 1, job.any_columns);
  if (!exists) return;
  double* const out = job.out + row * job.out_row;
  for (int k = block * merged_entries + threadIdx.x % merged_entries; k < size; k += blocks * merged_entries) {
    Row state = splits.joined(k);
    double sum;
    state.finish(&sum, 1, job.any_columns);
    if (job.out)
      out[(first + k) * job.out_entry] = Powers::result(sum, total, splits.shift);
    else
      *splits.entry(0, k) = state;
  }
  __syncwarp();
  if (block > 0 || threadIdx.x % merged_entries > 0) return;
  if (job.out && first) out[0] = Powers::top(splits.shift, total);
  if (!job.out) *splits.entry(0, size) = mass, splits.shift_of(0) = splits.shift;
}

// Joins the splits of an entry of a row; one thread per entry. For every layout of the results, a warp reads and writes
// whole sectors of memory.
template <class Formula, class Row> __device__ void merge_vector_sum(const PairJob& job) {
  constexpr int size = Formula::VectorSum::size, entries = merged_entries, blocks = (size + entries - 1) / entries;
  const int k = blockIdx.x % blocks * entries + threadIdx.x % entries;
  const long long row = job.row_begin + blockIdx.x / blocks * (long long)merged_rows + threadIdx.x / entries;
  if (row >= job.row_end || k >= size) return;
  Row* states = static_cast<Row*>(job.partials) + k * job.partial_rows + row;
  Row state;
  merge_states(state, states, size * job.partial_rows, 0, job.splits, 1);
  if (job.out)
    state.finish(job.out + row * job.out_row + k * job.out_entry, size * job.out_entry, job.any_columns);
  else
    *states = state;
}

template <class Formula, class Row> __device__ void merge_totals(const PairJob& job) {
  if constexpr (shifts<Formula>())
    merge_shifted_sum<Formula, Row>(job);
  else
    merge_vector_sum<Formula, Row>(job);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
