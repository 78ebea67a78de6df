// Reductions of segments, balanced by values: every tile (the values of one block) has the same number of values,
// whatever the lengths of the segments. A lane reduces VT consecutive values. The lane keeps a partial result for each
// segment that ends among these values. The state of the values after the last end is the carry of the lane. Each carry
// is joined to the next result: first within the warp, then within the block, and then across tiles (the spine). States
// are joined in order, at positions that depend only on the tiles, so every run returns the same bits. The operation
// needs no neutral element.
#pragma once
#include <kernops/cuda/segments/spine.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class S> __device__ __forceinline__ S from_lane(const S& s, int lane) {
  return shuffled(s, [=](unsigned word) { return __shfl_sync(all_lanes, word, lane); });
}

// The type that has one bit for each of VT values. A bit is 1 if a segment ends with the value.
template <int VT> struct EndBits;
template <> struct EndBits<8> { using type = unsigned char; };
template <> struct EndBits<16> { using type = unsigned short; };
template <> struct EndBits<32> { using type = unsigned; };
template <int VT> __device__ __forceinline__ unsigned ends_among(const SegmentPlan& plan, int at) {
  return reinterpret_cast<const typename EndBits<VT>::type*>(plan.ends)[at / VT];
}

// The members 0, 1, .. of a group are the lanes of a warp or the warps of a block. Bit m of `ended` is set if a segment
// ends in member m. Bit m of `full` is set if a segment ends with the last value of member m, so that this member has
// no carry. Returns the first member whose carry is joined to the first result of member n. Returns n if no carry is
// joined to this result.
__device__ __forceinline__ int carried_from(unsigned ended, unsigned full, int n) {
  const unsigned before = n == 32 ? ended : ended & ((1u << n) - 1);
  const int last = before ? 31 - __clz(before) : 0;
  return last + (before && full >> last & 1);
}

// The result of the reduction of a warp's values.
template <class Op> struct WarpPart {
  typename Op::State first;  // the part of the warp's first segment, valid only in the lane where this segment ends
  typename Op::State carry;  // in lane 31: the state of the values after the warp's last end
  unsigned ended, full;      // one bit per lane
  int count;                 // number of segments that end in this warp
};

// Reduces the values of a warp if no segment ends among these values.
template <class Op, int VT, class Fetch>
__device__ __forceinline__ WarpPart<Op> sum_up(const Fetch& values, long long first) {
  const auto at = [&](int k) { return first + (Op::commutative ? values.position(k) : lane_id() * VT + k); };
  typename Op::State s = Op::lift(values.v[0], at(0));
  KERNOPS_UNROLL
  for (int k = 1; k < VT; ++k) s = Op::add(s, values.v[k], at(k));
  KERNOPS_UNROLL
  for (int by = 1; by < 32; by *= 2) {
    const auto left = from_below(s, by);
    if (lane_id() >= by) s = Op::combine(left, s);
  }
  return {s, s, 0, 0, 0};
}

// Reduces the values of a warp if segments end among these values. `rows` receives all results of the warp except the
// first result.
template <class Op, int VT, class Value>
__device__ __forceinline__ WarpPart<Op> walk(const Value (&v)[VT], long long first, unsigned ends,
                                             typename Op::Staged* rows) {
  using State = typename Op::State;
  first += lane_id() * VT;
  const int before = sum_below(__popc(ends));
  State s, closed;
  int row = before;
  KERNOPS_EACH(k, VT) {
    s = k == 0 || ends >> (k - 1) & 1 ? Op::lift(v[k], first + k) : Op::add(s, v[k], first + k);
    if (ends >> k & 1) {
      if (ends & ((1u << k) - 1))
        rows[row] = Op::stage(s);
      else
        closed = s;
      ++row;
    }
  }
  WarpPart<Op> part;
  part.ended = __ballot_sync(all_lanes, ends != 0);
  part.full = __ballot_sync(all_lanes, ends >> (VT - 1) & 1);
  part.count = __shfl_sync(all_lanes, row, 31);
  // joins the carries of the lanes `from` .. lane_id()
  const int from = carried_from(part.ended, part.full, lane_id() + 1);
  KERNOPS_UNROLL
  for (int by = 1; by < 32; by *= 2) {
    const State left = from_below(s, by);
    if (lane_id() - by >= from) s = Op::combine(left, s);
  }
  const State left = from_below(s, 1);
  if (carried_from(part.ended, part.full, lane_id()) < lane_id()) closed = Op::combine(left, closed);
  if (ends && before > 0) rows[before] = Op::stage(closed);
  part.first = closed, part.carry = s;
  return part;
}

// Joins the carries of the members `from` .. `to` - 1, where `from` < `to`.
template <class Op>
__device__ __forceinline__ typename Op::State joined(const typename Op::State* carries, int from, int to) {
  typename Op::State s = carries[from];
  for (int n = from + 1; n < to; ++n) s = Op::combine(s, carries[n]);
  return s;
}

// The ends of segments in the warps of a tile. The function from() reads the number of ends in each warp. This number
// is negative if the last value of the warp ends a segment.
struct TileEnds {
  unsigned ended, full;
  int before, all;  // number of segments that end in earlier warps, and in all warps
  template <int warps> static __device__ __forceinline__ TileEnds from(const int (&counts)[warps]) {
    const int lane = lane_id(), theirs = lane < warps ? counts[lane] : 0, many = theirs < 0 ? -theirs : theirs,
              below = sum_below(many);
    return {__ballot_sync(all_lanes, theirs != 0), __ballot_sync(all_lanes, theirs < 0),
            __shfl_sync(all_lanes, below, threadIdx.x / 32), __shfl_sync(all_lanes, below + many, 31)};
  }
};

// The reduction of one tile by a block.
template <class Op, class Source, class Result, int VT, int warps> struct SegmentTile {
  using State = typename Op::State;
  using Staged = typename Op::Staged;
  using Value = typename Source::Value;
  using Values = typename Source::template Fetch<VT>;
  static_assert(sizeof(State) <= most_state_bytes, "the host makes room for states");
  static constexpr int across = 32 * VT, size = warps * across;
  static constexpr int turning = Turn<Value, VT>::room * sizeof(Value), staging = across * sizeof(Staged);
  static constexpr int room = turning > staging ? turning : staging;

  static __device__ __forceinline__ WarpPart<Op> reduce_warp(Values& values, long long first, unsigned ends,
                                                             void* room) {
    const bool some = __any_sync(all_lanes, ends != 0);
    if (some || !Op::commutative)
      values.turn(static_cast<Value*>(room));
    else
      values.arrange(static_cast<Value*>(room));
    __syncwarp();
    return some ? walk<Op>(values.v, first, ends, static_cast<Staged*>(room)) : sum_up<Op, VT>(values, first);
  }

  // Joins the carries of earlier warps to the warp's first result, and stores the carry of the tile. If `goes_on` is
  // true, the segment of the first result began in an earlier tile; in this case, the spine completes the result, and
  // the function returns true.
  static __device__ __forceinline__ bool close(const SegmentRun& job, const TileEnds& ends, const State* carries,
                                               WarpPart<Op>& part, Staged* rows, bool goes_on) {
    const int warp = threadIdx.x / 32, tile = blockIdx.x, column = blockIdx.y, at = column * job.plan.tiles + tile;
    const bool head = part.count > 0 && ends.before == 0 && goes_on;
    if (part.count > 0 && lane_id() == __ffs(part.ended) - 1) {
      const int from = carried_from(ends.ended, ends.full, warp);
      if (from < warp) part.first = Op::combine(joined<Op>(carries, from, warp), part.first);
      if (head)
        static_cast<State*>(job.heads)[at] = part.first;
      else
        rows[0] = Op::stage(part.first);
    }
    __syncwarp();
    const int from = carried_from(ends.ended, ends.full, warps);
    if (threadIdx.x == 0 && from < warps) static_cast<State*>(job.carries)[at] = joined<Op>(carries, from, warps);
    return head;
  }

  static __device__ __forceinline__ void put(const SegmentRun& job, int row, const Staged* rows, bool head, int count) {
    for (int n = lane_id() + head; n < count; n += 32) store<Op, Result>(job, blockIdx.y, row + n, rows[n]);
  }

  static __device__ __forceinline__ void reduce(const SegmentRun& job) {
    alignas(16) __shared__ char rooms[warps][room];
    __shared__ State carries[warps];
    __shared__ int counts[warps];
    const int warp = threadIdx.x / 32, tile = blockIdx.x, first = tile * size + warp * across;
    Staged* rows = reinterpret_cast<Staged*>(rooms[warp]);

    Values values;
    if (first < job.plan.count) values.load(job, blockIdx.y, tile * size, first);
    const int row = job.plan.limits[tile];
    const unsigned ends = row < job.plan.limits[tile + 1] ? ends_among<VT>(job.plan, first + lane_id() * VT) : 0;
    WarpPart<Op> part = reduce_warp(values, job.first + first, ends, rows);
    if (lane_id() == 31) carries[warp] = part.carry, counts[warp] = part.full >> 31 ? -part.count : part.count;
    __syncthreads();
    const TileEnds all = TileEnds::from(counts);
    const bool head = close(job, all, carries, part, rows, continues<size>(job, tile));
    put(job, row + all.before, rows, head, part.count);
  }
};

// The entry points, for VT values per lane.
#define KERNOPS_SEGMENTS(Op, Source, Result, VT)                                                        \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_segments, kernops::SegmentRun,   \
                 kernops::SegmentTile<Op, Source, Result, VT, kernops::segment_tile / 32 / VT>::reduce) \
  KERNOPS_SPINE(Op, Result)
#define KERNOPS_SPINE(Op, Result)                                                                                 \
  extern "C" __global__ void __launch_bounds__(kernops::spine_threads) kernops_spine(kernops::SegmentRun job) {   \
    kernops::SegmentSpine<Op, Result, kernops::segment_tile, kernops::spine_threads>{job, int(blockIdx.y)}.run(); \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
