// Scans of segments in one pass, balanced by values as in cuda/segments/reduce.cuh. A block loads a tile, and each lane
// folds its values. The block then obtains the joined state of earlier tiles (their part, cuda/segments/look_back.cuh),
// and the lanes fold their values again, starting from this state.
//
// A scan starts again at a cut. In a reversed scan, the cuts are at the beginnings of segments. Parts are joined at
// positions that depend only on the tiles, so every run returns the same bits.
#pragma once
#include <kernops/cuda/segments/look_back.cuh>
#include <kernops/cuda/segments/scan_values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The operation of a reversed scan, which receives later values first.
template <class Op> struct Backward : Op {
  using State = typename Op::State;
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) { return Op::combine(Op::lift(x, n), s); }
  static KERNOPS_FN State combine(const State& a, const State& b) { return Op::combine(b, a); }
};

template <class Op, class Source, class Result, int VT, int warps, bool exclusive, bool reverse>
struct ScanTile : ScanValues<Source, Result, VT, warps, reverse> {
  using Shape = ScanValues<Source, Result, VT, warps, reverse>;
  using Lane = typename Shape::Lane;
  using State = typename Op::State;
  using Part = ScanPart<Op>;
  using V = typename Shape::V;
  // Blocks wait for earlier blocks, and many resident blocks hide this latency. Therefore kernels with small states are
  // limited to 64 registers per thread.
  static constexpr int threads = 32 * warps, resident = sizeof(State) > 8 ? 1 : 1024 / threads;

  // Joins x, the i-th value of the lane, to the state s of the earlier values. If `none` is true, x begins a new state.
  static __device__ __forceinline__ State next(const ScanRun& job, const Lane& lane, int i, V x, const State& s,
                                               bool none) {
    const long long n = job.run.first + lane.first + Lane::number(i);
    return none ? Op::lift(x, n) : Op::add(s, x, n);
  }

  // Returns the part of the values of all earlier lanes of the warp. `total` receives the part of the whole warp.
  static __device__ __forceinline__ Part part_before(const ScanRun& job, const Lane& lane, const void* memory,
                                                     Part& total) {
    State s = State();
    Shape::each(memory, [&](int i, V x) { s = next(job, lane, i, x, s, i == 0 || lane.cut_after(i - 1)); });
    const unsigned ended = __ballot_sync(all_lanes, lane.cuts != 0),
                   full = __ballot_sync(all_lanes, lane.cut_after(VT - 1));
    const int n = lane_id(), from = carried_from(ended, full, n + 1);
    KERNOPS_UNROLL
    for (int by = 1; by < 32; by *= 2) {
      const State left = from_below(s, by);
      if (n - by >= from) s = Op::combine(left, s);
    }
    if (n == 31) total.state = s, total.has = from < 32, total.cut = ended != 0;
    Part before;
    before.state = from_below(s, 1);
    before.has = carried_from(ended, full, n) < n, before.cut = (ended & ((1u << n) - 1)) != 0;
    return before;
  }

  // Returns the segment of the lane's first value, for operations whose results are positions counted from the
  // beginning of the segment.
  static __device__ __forceinline__ int first_row(const ScanRun& job, const Lane& lane) {
    if (!Op::positions) return 0;
    const int first = Shape::warp_first(job), mine = __popc(lane.ends), below = sum_below(mine),
              all = __shfl_sync(all_lanes, below + mine, 31);
    if (first >= job.run.plan.count) return 0;
    return rows_before(job.run.plan, first / segment_tile * segment_tile, first) +
           (reverse ? all - below - mine : below);
  }
  static __device__ __forceinline__ double result(const ScanRun& job, const Lane& lane, int row, int i,
                                                  const State& s) {
    if (Op::is_empty(s)) return job.nothing;
    const int k = Lane::number(i), here = row + __popc(lane.ends & ((1u << k) - 1));
    const bool counts = Op::positions && lane.first + k < job.run.plan.count;
    return double(Op::result(Op::stage(s), counts ? job.run.offsets[here] : 0));
  }

  static __device__ __forceinline__ void write(const ScanRun& job, const Lane& lane, const Part& before, void* memory) {
    State s = before.state;
    bool has = before.has;
    const int row = first_row(job, lane);
    Shape::replace(memory, [&](int i, V x) {
      const State joined = next(job, lane, i, x, s, !has), here = exclusive ? s : joined;
      const double y = exclusive && !has ? job.nothing : result(job, lane, row, i, here);
      s = joined, has = !lane.cut_after(i);
      return Result(y);
    });
  }

  static __device__ __forceinline__ void scan(const ScanRun& job) {
    alignas(16) __shared__ char memory[warps][Shape::room];
    __shared__ Part totals[warps], earlier;
    const int warp = threadIdx.x / 32;
    const Lane lane = Shape::load(job, memory[warp]);
    const Part before = part_before(job, lane, memory[warp], totals[warp]);
    __syncthreads();
    if (warp == 0) {
      Part mine = totals[0];
      for (int n = 1; n < warps; ++n) mine = join_parts(mine, totals[n]);
      const Part found = LookBack<Op>(job, blockIdx.y).before(blockIdx.x, mine, Shape::continues(job));
      if (lane_id() == 0) earlier = found;
    }
    __syncthreads();
    Part carry = earlier;
    for (int n = 0; n < warp; ++n) carry = join_parts(carry, totals[n]);
    write(job, lane, join_parts(carry, before), memory[warp]);
    Shape::store(job, reinterpret_cast<const Result*>(memory[warp]));
  }
};

#define KERNOPS_SCAN(Op, Tile)                                                       \
  KERNOPS_KERNEL(kernops_scan_clear, kernops::ScanRun, kernops::LookBack<Op>::clear) \
  KERNOPS_KERNEL(__launch_bounds__(Tile::threads, Tile::resident) kernops_scan, kernops::ScanRun, Tile::scan)

}  // namespace KERNOPS_ISA
}  // namespace kernops
