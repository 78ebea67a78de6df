// Reductions of segments, balanced by values: a tile is so many values whatever the segments are. A lane
// walks VT values, keeps a partial result for each segment that ends among them, and carries the rest to the
// next lane that ends one: along the warp, then along the block, then from tile to tile (the spine).
// Everything is joined in order, at places that the tiles alone decide: the same bits on every run. A neutral
// value is never needed.
#pragma once
#include <kernops/seg_spine.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// A state of the lane so many below.
template <class S> __device__ __forceinline__ S from_below(const S& s, int by) {
  constexpr int words = sizeof(S) / 4;
  static_assert(sizeof(S) % 4 == 0, "states are exchanged in words");
  unsigned all[words];
  memcpy(all, &s, sizeof(S));
  KERNOPS_UNROLL
  for (int k = 0; k < words; ++k) all[k] = __shfl_up_sync(all_lanes, all[k], by);
  S other;
  memcpy(&other, all, sizeof(S));
  return other;
}

// The bits of values `at` .. `at` + VT - 1.
template <int VT> struct EndBits;
template <> struct EndBits<8> { using type = unsigned char; };
template <> struct EndBits<16> { using type = unsigned short; };
template <> struct EndBits<32> { using type = unsigned; };
template <int VT> __device__ __forceinline__ unsigned ends_among(const SegmentPlan& plan, int at) {
  return reinterpret_cast<const typename EndBits<VT>::type*>(plan.ends)[at / VT];
}

// Of members 0, 1, .. of a group, each may have ended a segment, and been full: ended one with its last
// value, so that it carries nothing on. Where the carries begin that concern member n: n where there are
// none.
__device__ __forceinline__ int carried_from(unsigned ended, unsigned full, int n) {
  const unsigned before = n == 32 ? ended : ended & ((1u << n) - 1);
  const int last = before ? 31 - __clz(before) : 0;
  return last + (before && full >> last & 1);
}

// What a warp made of its values.
template <class Op> struct WarpPart {
  typename Op::State first;  // of the lane that ends the warp's first segment: its part in this warp
  typename Op::State carry;  // of lane 31: what is left after the warp's last end
  unsigned ended, full;      // lanes
  int count;                 // segments that end here
};

// No segment ends here.
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

// The results but the first one are left in `rows`.
template <class Op, int VT, class Value>
__device__ __forceinline__ WarpPart<Op> walk(const Value (&v)[VT], long long first, unsigned ends,
                                             typename Op::Staged* rows) {
  using State = typename Op::State;
  first += lane_id() * VT;
  const int before = sum_below(__popc(ends));
  State s, closed;
  int row = before;
  KERNOPS_UNROLL
  for (int k = 0; k < VT; ++k) {
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
  // carry: of all lanes from the last one that ended a segment, this one included
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

// Carries of members from .. to - 1, which must not be none.
template <class Op>
__device__ __forceinline__ typename Op::State joined(const typename Op::State* carries, int from, int to) {
  typename Op::State s = carries[from];
  for (int n = from + 1; n < to; ++n) s = Op::combine(s, carries[n]);
  return s;
}

// The reduction of one tile by a block.
template <class Op, class Source, class Result, int VT, int warps> struct SegmentTile {
  using State = typename Op::State;
  using Staged = typename Op::Staged;
  using Value = typename Source::Value;
  static_assert(sizeof(State) <= most_state_bytes, "the host makes room for states");
  static constexpr int across = 32 * VT, size = warps * across;
  static constexpr int turning = Turn<Value, VT>::room * sizeof(Value), staging = across * sizeof(Staged);
  static constexpr int room = turning > staging ? turning : staging;

  static __device__ __forceinline__ void reduce(const SegmentRun& job) {
    __shared__ alignas(16) char rooms[warps][room];
    __shared__ State carries[warps];
    __shared__ int counts[warps];  // of ends; negative where the last value is one
    const int warp = threadIdx.x / 32, tile = blockIdx.x, column = blockIdx.y,
              first = tile * size + warp * across;
    Staged* rows = reinterpret_cast<Staged*>(rooms[warp]);

    typename Source::template Fetch<VT> values;
    if (first < job.plan.count) values.load(job, column, tile * size, first);
    const int row = job.plan.limits[tile];
    const unsigned ends =
        row < job.plan.limits[tile + 1] ? ends_among<VT>(job.plan, first + lane_id() * VT) : 0;
    const bool some = __any_sync(all_lanes, ends != 0);
    if (some || !Op::commutative) values.turn(reinterpret_cast<Value*>(rooms[warp]));
    __syncwarp();
    WarpPart<Op> part =
        some ? walk<Op>(values.v, job.first + first, ends, rows) : sum_up<Op, VT>(values, job.first + first);
    if (lane_id() == 31)
      carries[warp] = part.carry, counts[warp] = part.full >> 31 ? -part.count : part.count;
    __syncthreads();

    const int theirs = lane_id() < warps ? counts[lane_id()] : 0;
    const unsigned ended = __ballot_sync(all_lanes, theirs != 0), full = __ballot_sync(all_lanes, theirs < 0);
    if (part.count > 0) {
      const int from = carried_from(ended, full, warp);
      const int before = __shfl_sync(all_lanes, sum_below(theirs < 0 ? -theirs : theirs), warp);
      const bool head = before == 0 && continues<size>(job, tile);  // the spine will complete it
      if (lane_id() == __ffs(part.ended) - 1) {
        if (from < warp) part.first = Op::combine(joined<Op>(carries, from, warp), part.first);
        if (head)
          static_cast<State*>(job.heads)[column * job.plan.tiles + tile] = part.first;
        else
          rows[0] = Op::stage(part.first);
      }
      __syncwarp();
      for (int n = lane_id() + head; n < part.count; n += 32)
        store<Op, Result>(job, column, row + before + n, rows[n]);
    }
    const int from = carried_from(ended, full, warps);
    if (threadIdx.x == 0 && from < warps)
      static_cast<State*>(job.carries)[column * job.plan.tiles + tile] = joined<Op>(carries, from, warps);
  }
};

// The entry points, for VT values a lane.
#define KERNOPS_SEGMENTS(Op, Source, Result, VT)                                                           \
  extern "C" __global__ void __launch_bounds__(kernops::segment_tile / VT)                                 \
      kernops_segments(kernops::SegmentRun job) {                                                          \
    kernops::SegmentTile<Op, Source, Result, VT, kernops::segment_tile / 32 / VT>::reduce(job);            \
  }                                                                                                        \
  extern "C" __global__ void __launch_bounds__(kernops::spine_threads)                                     \
      kernops_spine(kernops::SegmentRun job) {                                                             \
    kernops::SegmentSpine<Op, Result, kernops::segment_tile, kernops::spine_threads>{job, int(blockIdx.y)} \
        .run();                                                                                            \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
