// From tile to tile: what the tiles of seg_reduce.cuh leave open completes the first segment that ends in a
// later one.
#pragma once
#include <kernops/seg_ops.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Whether the tile begins inside a segment.
template <int size> __device__ __forceinline__ bool continues(const SegmentRun& job, int tile) {
  return tile == 0 ? job.incoming != nullptr : !ends_at(job.plan, tile * size - 1);
}

template <class Op, class Result>
__device__ __forceinline__ void store(const SegmentRun& job, int column, int row,
                                      const typename Op::Staged& staged) {
  const long long begin = Op::positions ? job.offsets[row] : 0;
  static_cast<Result*>(job.out)[column * job.out_column + row] = Result(Op::result(staged, begin));
}

// The spine: completes the first segment that ends in each tile by what the tiles before it carry. Carry 0
// comes from before the first tile, carry n is that of tile n - 1; place `tiles` stands for what follows the
// last tile.
template <class Op, class Result, int size, int threads> struct SegmentSpine {
  using State = typename Op::State;
  const SegmentRun& job;
  const int column;

  __device__ __forceinline__ State carry(int n) const {
    return n == 0 ? static_cast<const State*>(job.incoming)[column]
                  : static_cast<const State*>(job.carries)[column * job.plan.tiles + n - 1];
  }
  __device__ __forceinline__ State joined(int from, int to) const {
    State s = carry(from);
    KERNOPS_UNROLL_BY(8)
    for (int n = from + 1; n < to; ++n) s = Op::combine(s, carry(n));
    return s;
  }

  // A long run of carries, by all threads of the block.
  __device__ __forceinline__ State joined_by_all(int from, int to) const {
    __shared__ State parts[threads];
    const int each = (to - from + threads - 1) / threads, begin = from + int(threadIdx.x) * each;
    int filled = (to - from + each - 1) / each;
    __syncthreads();  // the run before this one has been read
    if (begin < to) parts[threadIdx.x] = joined(begin, begin + each < to ? begin + each : to);
    for (; filled > 1; filled = (filled + 1) / 2) {
      __syncthreads();
      State pair;
      const int left = 2 * threadIdx.x;
      if (left < filled) pair = left + 1 < filled ? Op::combine(parts[left], parts[left + 1]) : parts[left];
      __syncthreads();
      if (left < filled) parts[threadIdx.x] = pair;
    }
    __syncthreads();
    return parts[0];
  }

  __device__ __forceinline__ void run() const {
    constexpr int few = 32;
    __shared__ unsigned long_ones[threads / 32];
    __shared__ int begins[threads];
    const int first = blockIdx.x * threads, tile = first + threadIdx.x, last = job.plan.tiles;
    const bool closes = tile < last && job.plan.limits[tile] < job.plan.limits[tile + 1];
    const bool wanted = (closes || (tile == last && job.outgoing)) && continues<size>(job, tile);
    int from = wanted ? job.plan.opens[tile] : 0;
    if (from == 0 && !job.incoming) from = 1;
    const bool is_long = wanted && tile + 1 - from > few;
    State open;
    if (wanted && !is_long) open = joined(from, tile + 1);
    begins[threadIdx.x] = from;
    const unsigned ours = __ballot_sync(all_lanes, is_long);
    if (lane_id() == 0) long_ones[threadIdx.x / 32] = ours;
    __syncthreads();
    for (int warp = 0; warp < threads / 32; ++warp)
      for (unsigned rest = long_ones[warp]; rest; rest &= rest - 1) {
        const int n = warp * 32 + __ffs(rest) - 1;
        const State all = joined_by_all(begins[n], first + n + 1);
        if (n == threadIdx.x) open = all;
      }
    if (!wanted) return;
    if (tile == last)
      static_cast<State*>(job.outgoing)[column] = open;
    else
      store<Op, Result>(
          job, column, job.plan.limits[tile],
          Op::stage(Op::combine(open, static_cast<const State*>(job.heads)[column * last + tile])));
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
