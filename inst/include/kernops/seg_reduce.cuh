// Reductions of segments, balanced by values: a tile is so many values whatever the segments are. A lane walks VT
// values, keeps a partial result for each segment that ends among them, and carries the rest to the next lane that ends
// one: along the warp, then along the block, then from tile to tile (the spine). Everything is joined in order, at
// places that the tiles alone decide: the same bits on every run. A neutral value is never needed.
#pragma once
#include <kernops/segment_ops.cuh>

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
// Whether the tile begins inside a segment.
template <int size> __device__ __forceinline__ bool continues(const SegmentRun& job, int tile) {
  return tile == 0 ? job.incoming != nullptr : !ends_at(job.plan, tile * size - 1);
}

// Of members 0, 1, .. of a group, each may have ended a segment, and been full: ended one with its last value, so that it
// carries nothing on. Where the carries begin that concern member n: n where there are none.
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
template <class Op, int VT, class Fetch> __device__ __forceinline__ WarpPart<Op> sum_up(const Fetch& values, long long first) {
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
__device__ __forceinline__ WarpPart<Op> walk(const Value (&v)[VT], long long first, unsigned ends, typename Op::Staged* rows) {
  using State = typename Op::State;
  first += lane_id() * VT;
  const int before = sum_below(__popc(ends));
  State s, closed;
  int row = before;
  KERNOPS_UNROLL
  for (int k = 0; k < VT; ++k) {
    s = k == 0 || ends >> (k - 1) & 1 ? Op::lift(v[k], first + k) : Op::add(s, v[k], first + k);
    if (ends >> k & 1) {
      if (ends & ((1u << k) - 1)) rows[row] = Op::stage(s);
      else closed = s;
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
template <class Op> __device__ __forceinline__ typename Op::State joined(const typename Op::State* carries, int from, int to) {
  typename Op::State s = carries[from];
  for (int n = from + 1; n < to; ++n) s = Op::combine(s, carries[n]);
  return s;
}

template <class Op, class Result>
__device__ __forceinline__ void store(const SegmentRun& job, int column, int row, const typename Op::Staged& staged) {
  const long long begin = Op::positions ? job.offsets[row] : 0;
  static_cast<Result*>(job.out)[column * job.out_column + row] = Result(Op::result(staged, begin));
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
    const int warp = threadIdx.x / 32, tile = blockIdx.x, column = blockIdx.y, first = tile * size + warp * across;
    Staged* rows = reinterpret_cast<Staged*>(rooms[warp]);

    typename Source::template Fetch<VT> values;
    if (first < job.plan.count) values.load(job, column, tile * size, first);
    const int row = job.plan.limits[tile];
    const unsigned ends = row < job.plan.limits[tile + 1] ? ends_among<VT>(job.plan, first + lane_id() * VT) : 0;
    const bool some = __any_sync(all_lanes, ends != 0);
    if (some || !Op::commutative) values.turn(reinterpret_cast<Value*>(rooms[warp]));
    __syncwarp();
    WarpPart<Op> part = some ? walk<Op>(values.v, job.first + first, ends, rows) : sum_up<Op, VT>(values, job.first + first);
    if (lane_id() == 31) carries[warp] = part.carry, counts[warp] = part.full >> 31 ? -part.count : part.count;
    __syncthreads();

    const int theirs = lane_id() < warps ? counts[lane_id()] : 0;
    const unsigned ended = __ballot_sync(all_lanes, theirs != 0), full = __ballot_sync(all_lanes, theirs < 0);
    if (part.count > 0) {
      const int from = carried_from(ended, full, warp);
      const int before = __shfl_sync(all_lanes, sum_below(theirs < 0 ? -theirs : theirs), warp);
      const bool head = before == 0 && continues<size>(job, tile);  // the spine will complete it
      if (lane_id() == __ffs(part.ended) - 1) {
        if (from < warp) part.first = Op::combine(joined<Op>(carries, from, warp), part.first);
        if (head) static_cast<State*>(job.heads)[column * job.plan.tiles + tile] = part.first;
        else rows[0] = Op::stage(part.first);
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

// The spine: completes the first segment that ends in each tile by what the tiles before it carry. Carry 0 comes from
// before the first tile, carry n is that of tile n - 1; place `tiles` stands for what follows the last tile.
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
    if (tile == last) static_cast<State*>(job.outgoing)[column] = open;
    else store<Op, Result>(job, column, job.plan.limits[tile],
                           Op::stage(Op::combine(open, static_cast<const State*>(job.heads)[column * last + tile])));
  }
};

// The entry points, for VT values a lane.
#define KERNOPS_SEGMENTS(Op, Source, Result, VT)                                                                  \
  extern "C" __global__ void __launch_bounds__(kernops::segment_tile / VT)                                        \
      kernops_segments(kernops::SegmentRun job) {                                                                 \
    kernops::SegmentTile<Op, Source, Result, VT, kernops::segment_tile / 32 / VT>::reduce(job);                   \
  }                                                                                                               \
  extern "C" __global__ void __launch_bounds__(kernops::spine_threads) kernops_spine(kernops::SegmentRun job) {   \
    kernops::SegmentSpine<Op, Result, kernops::segment_tile, kernops::spine_threads>{job, int(blockIdx.y)}.run(); \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
