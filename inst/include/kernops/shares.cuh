// Which pairs a block of threads reduces.
#pragma once
#include <kernops/device_job.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The first of its rows, the end of them, and one run of lanes after another. Here, all pairs are there.
struct AllPairs {
  long long first, row_end, begin, end;

  __device__ AllPairs(const PairJob& job, int rows) {
    first = job.row_begin + blockIdx.x * (long long)rows, row_end = job.row_end;
    begin = job.lane_begin + blockIdx.y * job.chunk;
    end = begin + job.chunk < job.lane_end ? begin + job.chunk : job.lane_end;
  }
  __device__ bool any() const { return begin < end; }
  __device__ bool last() const { return true; }
  __device__ bool next() { return false; }
  template <class Row> __device__ void complete(Row&) const {}
};

// Here, the lanes of some intervals; a chunk counts them as if they stood side by side.
struct SomePairs {
  long long first, row_end, begin, end;
  const Interval* interval;
  long long number, end_number;  // of the lanes to come
  int first_lane;                // of the chunk, -1 where there is none

  __device__ SomePairs(const PairJob& job, int) : begin(0), end(0), first_lane(-1) {
    const RowBlock& block = job.blocks[blockIdx.x];
    first = block.begin, row_end = block.end;
    number = blockIdx.y * job.chunk;
    end_number = number + job.chunk < block.lanes ? number + job.chunk : block.lanes;
    if (number >= end_number) return;
    interval = find_interval(job.intervals, block, number);
    next();
    first_lane = int(begin);
  }
  __device__ bool next() {
    if (number >= end_number) return false;
    begin = interval->begin + number - interval->before;
    end = interval->end - begin < end_number - number ? interval->end : begin + end_number - number;
    number += end - begin;
    ++interval;
    return true;
  }
  __device__ bool any() const { return first_lane >= 0; }
  __device__ bool last() const { return number >= end_number; }
  template <class Row> __device__ void complete(Row& state) const {
    if (any()) state.adopt(first_lane);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
