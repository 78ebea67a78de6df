// The last step of a reduction of segments (cuda/segments/reduce.cuh). A tile is the values of one block, and its carry
// is the state of the values after the last end of a segment in the tile. The spine joins the carries of earlier tiles
// to the first segment that ends in a tile.
#pragma once
#include <kernops/cuda/segments/ops.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// True if the tile begins inside a segment.
template <int size> __device__ __forceinline__ bool continues(const SegmentRun& job, int tile) {
  return tile == 0 ? job.incoming != nullptr : !ends_at(job.plan, tile * size - 1);
}

template <class Op, class Result>
__device__ __forceinline__ void store(const SegmentRun& job, int column, int row, const typename Op::Staged& staged) {
  const long long begin = Op::positions ? job.offsets[row] : 0;
  static_cast<Result*>(job.out)[column * job.out_column + result_row(job, row)] = Result(Op::result(staged, begin));
}

// The joined carry of consecutive tiles. The tiles of a group are joined one after another, and then groups are joined
// one after another. Groups are counted from the first tile of the whole input, so that no result depends on the
// division of values into batches.
template <class Op> struct Carried {
  using State = typename Op::State;
  State whole, part;        // states of the finished groups, and of the current group
  int has_whole, has_part;  // has_whole: 1 if `whole` is a state, 0 if not; has_part: the same for `part`

  // Appends `count` finished groups; groups[0] already includes `part`.
  __device__ __forceinline__ void close(const State* groups, int count) {
    State s = has_whole ? Op::combine(whole, groups[0]) : groups[0];
    KERNOPS_UNROLL_BY(8)
    for (int n = 1; n < count; ++n) s = Op::combine(s, groups[n]);
    whole = s, has_whole = 1, has_part = 0;
  }
  __device__ __forceinline__ State all() const {
    if (!has_part) return whole;
    return has_whole ? Op::combine(whole, part) : part;
  }
};

// The computation of the spine for one column of values. Carry n is the carry of tile n - 1. Carry 0 is the state
// before the first tile, and carry number `tiles` is the state after the last tile.
template <class Op, class Result, int size, int threads> struct SegmentSpine {
  using State = typename Op::State;
  const SegmentRun& job;
  const int column;

  __device__ __forceinline__ State carry(int n) const {
    return static_cast<const State*>(job.carries)[column * job.plan.tiles + n - 1];
  }
  __device__ __forceinline__ int group_of(int n) const { return (job.phase + n - 1) / tile_group; }
  __device__ __forceinline__ int begin_of(int group) const { return group * tile_group - job.phase + 1; }
  __device__ __forceinline__ Carried<Op> before(int from) const {
    if (from == 0) return static_cast<const Carried<Op>*>(job.incoming)[column];
    Carried<Op> nothing;
    nothing.has_whole = nothing.has_part = 0;
    return nothing;
  }

  // Joins the tiles `from` .. `to` - 1 of one group to the state of the earlier tiles of this group.
  __device__ __forceinline__ State group_part(const Carried<Op>& run, int from, int to) const {
    State s = run.has_part ? Op::combine(run.part, carry(from)) : carry(from);
    KERNOPS_UNROLL_BY(8)
    for (int n = from + 1; n < to; ++n) s = Op::combine(s, carry(n));
    return s;
  }

  __device__ __forceinline__ Carried<Op> joined(int from, int to) const {
    Carried<Op> run = before(from);
    for (int n = from > 0 ? from : 1, end; n < to; n = end) {
      end = begin_of(group_of(n) + 1);
      run.part = group_part(run, n, end < to ? end : to), run.has_part = 1;
      if (end <= to) run.close(&run.part, 1);
    }
    return run;
  }

  // Joins many consecutive tiles with all threads of the block, one thread per group.
  __device__ __forceinline__ Carried<Op> joined_by_all(int from, int to) const {
    __shared__ State parts[threads];
    Carried<Op> run = before(from);
    const int begin = from > 0 ? from : 1, first = group_of(begin), groups = group_of(to - 1) - first + 1;
    for (int done = 0; done < groups; done += threads) {
      const int group = first + done + int(threadIdx.x), low = begin_of(group), high = begin_of(group + 1);
      __syncthreads();  // waits until all threads have read the earlier parts
      if (done + int(threadIdx.x) < groups)
        parts[threadIdx.x] =
            group_part(low <= begin ? run : before(1), low > begin ? low : begin, high < to ? high : to);
      __syncthreads();
      const int here = groups - done < threads ? groups - done : threads,
                over = begin_of(first + done + here) <= to ? here : here - 1;
      if (over > 0) run.close(parts, over);
      if (over < here) run.part = parts[over], run.has_part = 1;
    }
    return run;
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
    Carried<Op> open;
    if (wanted && !is_long) open = joined(from, tile + 1);
    begins[threadIdx.x] = from;
    const unsigned ours = __ballot_sync(all_lanes, is_long);
    if (lane_id() == 0) long_ones[threadIdx.x / 32] = ours;
    __syncthreads();
    for (int warp = 0; warp < threads / 32; ++warp)
      for (unsigned rest = long_ones[warp]; rest; rest &= rest - 1) {
        const int n = warp * 32 + __ffs(rest) - 1;
        const Carried<Op> run = joined_by_all(begins[n], first + n + 1);
        if (n == threadIdx.x) open = run;
      }
    if (!wanted) return;
    if (tile == last)
      static_cast<Carried<Op>*>(job.outgoing)[column] = open;
    else
      store<Op, Result>(job, column, job.plan.limits[tile],
                        Op::stage(Op::combine(open.all(), static_cast<const State*>(job.heads)[column * last + tile])));
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
