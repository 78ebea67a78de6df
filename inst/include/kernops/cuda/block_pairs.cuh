// The pairs (rows and columns) that a block of threads reduces. A split is a part of the columns; blocks with the same
// rows and different splits run in parallel.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The numbering of blocks. Blocks that run at the same time process all splits of a few rows, so that the data of these
// rows stay in the cache of the GPU.
__device__ __forceinline__ long long number_of_block() { return blockIdx.y * (long long)gridDim.x + blockIdx.x; }
__device__ __forceinline__ int row_block() { return int(number_of_block() / gridDim.y); }
__device__ __forceinline__ int split_of_block() { return int(number_of_block() % gridDim.y); }

// The pairs of a block if all pairs are reduced: rows `first` .. `row_end` - 1 and columns `begin` .. `end` - 1, at
// most the columns of one split.
struct AllPairs {
  long long first, row_end, begin, end;

  __device__ AllPairs(const PairJob& job, int rows) {
    first = job.row_begin + row_block() * (long long)rows, row_end = job.row_end;
    begin = job.column_begin + split_of_block() * job.columns_per_split;
    end = begin + job.columns_per_split < job.column_end ? begin + job.columns_per_split : job.column_end;
  }
  __device__ bool any() const { return begin < end; }
  __device__ bool last() const { return true; }
  __device__ bool next() { return false; }
  template <class Row> __device__ void complete(Row&) const {}
};

// The pairs of a block if only given pairs are reduced: the columns of the block's rows lie in some intervals. Splits
// divide these columns as if the intervals were contiguous.
struct SomePairs {
  long long first, row_end, begin, end;
  const Interval* interval;
  long long number, end_number;  // the remaining columns, numbered across all intervals
  int first_column;              // first column of the split; -1 if the split has no columns

  __device__ SomePairs(const PairJob& job, int) : begin(0), end(0), first_column(-1) {
    const RowBlock& block = job.blocks[row_block()];
    first = block.begin, row_end = block.end;
    number = split_of_block() * job.columns_per_split;
    end_number = number + job.columns_per_split < block.columns ? number + job.columns_per_split : block.columns;
    if (number >= end_number) return;
    interval = find_interval(job.intervals, block, number);
    next();
    first_column = int(begin);
  }
  __device__ bool next() {
    if (number >= end_number) return false;
    begin = interval->begin + number - interval->before;
    end = interval->end - begin < end_number - number ? interval->end : begin + end_number - number;
    number += end - begin;
    ++interval;
    return true;
  }
  __device__ bool any() const { return first_column >= 0; }
  __device__ bool last() const { return number >= end_number; }
  template <class Row> __device__ void complete(Row& state) const {
    if (any()) state.adopt(first_column);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
