// States of reductions of segments: the state of one segment, and packs of states, in which each lane has a separate
// state.
#pragma once
#include <kernops/cpu/map_reduce.h>
#include <kernops/jobs/segments.h>
#include <kernops/segment_reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The reduction within a block. For the few values of a block, a plain sum is as accurate as a sum by tiles.
template <class R> struct Accumulate { using Block = R; };
template <> struct Accumulate<BlockSum> { using Block = DirectSum; };
template <> struct Accumulate<Mean> { using Block = MeanOf<DirectSum>; };

// True if the result of a segment with a single value is this value.
template <class R> struct IsResult : std::false_type {};
template <> struct IsResult<DirectSum> : std::true_type {};
template <int sign> struct IsResult<Extreme<sign>> : std::true_type {};

// Converts the state of a block to the state of the whole segment.
template <class R, class Block>
KERNOPS_INLINE void widen(const State<Block, double, Count>& block, State<R, double, Count>& whole) {
  R::start(whole);
  for (int n = 0; n < Block::values; ++n) whole.v[n] = block.v[n];
  for (int n = 0; n < Block::indices; ++n) whole.j[n] = block.j[n];
}
KERNOPS_INLINE void widen(const State<MeanOf<DirectSum>, double, Count>& block, State<Mean, double, Count>& whole) {
  Mean::start(whole);
  whole.v[0] = block.v[0], whole.v[4] = block.v[1] + block.v[2];
}

template <class R> using PackState = State<R, Pack<double>, IntPack<double>>;
template <class R> using OneState = State<R, double, Count>;

template <class R> OneState<R> lane_of(const PackState<R>& s, int lane) {
  OneState<R> one;
  for (int n = 0; n < R::values; ++n) one.v[n] = s.v[n].lane(lane);
  for (int n = 0; n < R::indices; ++n) one.j[n] = s.j[n].lane(lane);
  return one;
}

template <class R, class S> void give(const SegmentJob& job, Count column, Count row, const S& s) {
  for (int o = 0; o < R::outputs; ++o) job.result(o, column, row) = R::finish(s, o);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
