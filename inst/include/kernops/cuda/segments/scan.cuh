// Scans of segments, balanced by values as in cuda/segments/reduce.cuh, in three kernels:
//
//   kernops_scan_parts   the part that each tile leaves open, and whether a segment ends in the tile
//   kernops_scan_spine   what is open before each tile
//   kernops_scan         the results of each tile
//
// A reversed scan meets tiles, warps, lanes and values in the opposite order, and is cut where segments begin. Parts
// are joined at places that tiles alone decide: the same bits on every run.
#pragma once
#include <kernops/cuda/segments/reduce.cuh>
#include <kernops/jobs/device_scans.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Values in the order of a scan: the state of those after the last cut, if there are any, and whether there is a cut.
template <class Op> struct ScanPart {
  typename Op::State state;
  int has, cut;
};
template <class Op> __device__ __forceinline__ ScanPart<Op> no_part() {
  ScanPart<Op> part;
  part.state = Op::lift(0., 0);
  part.has = part.cut = 0;
  return part;
}
template <class Op> __device__ __forceinline__ ScanPart<Op> join_parts(const ScanPart<Op>& a, const ScanPart<Op>& b) {
  if (b.cut) return b;
  ScanPart<Op> both = b.has ? b : a;
  if (a.has && b.has) both.state = Op::combine(a.state, b.state);
  both.cut = a.cut;
  return both;
}

// The operation of a reversed scan, which meets later values first.
template <class Op> struct Backward : Op {
  using State = typename Op::State;
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) { return Op::combine(Op::lift(x, n), s); }
  static KERNOPS_FN State combine(const State& a, const State& b) { return Op::combine(b, a); }
};

// The part before this lane's part in a block of so many warps, after `carry`. `totals` receives the parts of warps.
template <class Op, int warps>
__device__ __forceinline__ ScanPart<Op> part_before(ScanPart<Op> part, ScanPart<Op> carry, ScanPart<Op>* totals) {
  KERNOPS_UNROLL
  for (int by = 1; by < 32; by *= 2) {
    const ScanPart<Op> left = from_below(part, by);
    if (lane_id() >= by) part = join_parts(left, part);
  }
  ScanPart<Op> before = from_below(part, 1);
  if (lane_id() == 0) before = no_part<Op>();
  const int warp = threadIdx.x / 32;
  if (lane_id() == 31) totals[warp] = part;
  __syncthreads();
  for (int n = 0; n < warp; ++n) carry = join_parts(carry, totals[n]);
  return join_parts(carry, before);
}

template <class Op, class V, class Result, int VT, bool exclusive, bool reverse> struct ScanTile {
  using Part = ScanPart<Op>;
  using Values = typename Contiguous<V>::template Fetch<VT>;
  static_assert(sizeof(Part) <= most_scan_part_bytes, "the host makes room for parts");
  static constexpr int across = 32 * VT, warps = segment_tile / across, size = segment_tile;
  static constexpr int loading = Turn<V, VT>::room * sizeof(V), storing = Turn<Result, VT>::room * sizeof(Result);

  // The values of a lane, side by side, and where the scan is cut after one.
  struct Lane {
    V v[VT];
    unsigned cuts;
    int first, count;  // the position of v[0], and how many values there are
    __device__ __forceinline__ bool is_cut(int k) const { return cuts >> k & 1; }
  };

  static __device__ __forceinline__ int chunk() { return reverse ? 31 - lane_id() : lane_id(); }
  static __device__ __forceinline__ int warp_first(const ScanRun& job) {
    const int warp = threadIdx.x / 32, tile = blockIdx.x;
    return reverse ? (job.run.plan.tiles - 1 - tile) * size + (warps - 1 - warp) * across : tile * size + warp * across;
  }

  static __device__ __forceinline__ Lane load(const ScanRun& job, void* room) {
    const SegmentPlan& plan = job.run.plan;
    const int first = warp_first(job);
    Lane lane;
    lane.first = first + chunk() * VT;
    lane.count = plan.count - lane.first;
    Values values;
    if (first < plan.count) {
      values.load(job.run, blockIdx.y, 0, first);
      values.turn(static_cast<V*>(room));
      Turn<V, VT>::own(lane.v, static_cast<const V*>(room), chunk());
    }
    __syncwarp();
    lane.cuts = ends_among<VT>(plan, lane.first);
    if (reverse) lane.cuts = lane.cuts << 1 | unsigned(lane.first == 0 || ends_at(plan, lane.first - 1));
    return lane;
  }

  // meet(k) for each value, in the order of the scan.
  template <class Meet> static __device__ __forceinline__ void each(const Lane& lane, Meet meet) {
    KERNOPS_EACH(i, VT) {
      constexpr int last = VT - 1;
      const int k = reverse ? last - i : i;
      if (k < lane.count) meet(k);
    }
  }

  static __device__ __forceinline__ void take(const ScanRun& job, const Lane& lane, Part& part, int k) {
    const long long n = job.run.first + lane.first + k;
    part.state = part.has ? Op::add(part.state, lane.v[k], n) : Op::lift(lane.v[k], n);
    part.has = 1;
  }

  static __device__ __forceinline__ Part part_of(const ScanRun& job, const Lane& lane) {
    Part part = no_part<Op>();
    each(lane, [&](int k) {
      take(job, lane, part, k);
      if (lane.is_cut(k)) part.has = 0, part.cut = 1;
    });
    return part;
  }

  static __device__ __forceinline__ Part& tile_part(const ScanRun& job) {
    return static_cast<Part*>(job.run.carries)[blockIdx.y * job.run.plan.tiles + blockIdx.x];
  }

  static __device__ __forceinline__ void find_parts(const ScanRun& job) {
    alignas(16) __shared__ char rooms[warps][loading];
    __shared__ Part totals[warps];
    const Lane lane = load(job, rooms[threadIdx.x / 32]);
    const Part part = part_of(job, lane), before = part_before<Op, warps>(part, no_part<Op>(), totals);
    if (threadIdx.x == 32 * warps - 1) tile_part(job) = join_parts(before, part);
  }

  static __device__ __forceinline__ Result result(const ScanRun& job, const Part& part) {
    return Result(part.has ? double(Op::stage(part.state)) : job.nothing);
  }

  static __device__ __forceinline__ void scan(const ScanRun& job) {
    alignas(16) __shared__ char rooms[warps][loading > storing ? loading : storing];
    __shared__ Part totals[warps];
    void* room = rooms[threadIdx.x / 32];
    const Lane lane = load(job, room);
    Part part = part_before<Op, warps>(part_of(job, lane), tile_part(job), totals);
    Result* const results = static_cast<Result*>(room) + chunk() * (VT + Turn<Result, VT>::gap);
    each(lane, [&](int k) {
      if (exclusive) results[k] = result(job, part);
      take(job, lane, part, k);
      if (!exclusive) results[k] = result(job, part);
      if (lane.is_cut(k)) part.has = 0;
    });
    __syncwarp();
    const int first = warp_first(job), count = job.run.plan.count - first;
    Result* const out = static_cast<Result*>(job.run.out) + blockIdx.y * job.run.out_column + first;
    KERNOPS_EACH(k, VT) {
      const int n = k * 32 + lane_id();
      if (n < count) out[n] = static_cast<const Result*>(room)[Turn<Result, VT>::place(n)];
    }
  }
};

// One block for each column: the part of each tile becomes that of all tiles before it.
template <class Op> __device__ __forceinline__ void scan_spine(const ScanRun& job) {
  constexpr int warps = scan_spine_threads / 32;
  __shared__ ScanPart<Op> totals[warps];
  const int tiles = job.run.plan.tiles, each = (tiles + scan_spine_threads - 1) / scan_spine_threads;
  const int begin = threadIdx.x * each, end = begin + each < tiles ? begin + each : tiles;
  ScanPart<Op>* const parts = static_cast<ScanPart<Op>*>(job.run.carries) + (long long)blockIdx.y * tiles;
  ScanPart<Op> part = no_part<Op>();
  KERNOPS_UNROLL_BY(8)
  for (int n = begin; n < end; ++n) part = join_parts(part, parts[n]);
  ScanPart<Op> before = part_before<Op, warps>(part, no_part<Op>(), totals);
  KERNOPS_UNROLL_BY(8)
  for (int n = begin; n < end; ++n) {
    const ScanPart<Op> next = join_parts(before, parts[n]);
    parts[n] = before;
    before = next;
  }
}

#define KERNOPS_SCAN(Op, Tile, VT)                                                                                     \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_scan_parts, kernops::ScanRun, Tile::find_parts) \
  KERNOPS_KERNEL(__launch_bounds__(kernops::scan_spine_threads) kernops_scan_spine, kernops::ScanRun,                  \
                 kernops::scan_spine<Op>)                                                                              \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_scan, kernops::ScanRun, Tile::scan)

}  // namespace KERNOPS_ISA
}  // namespace kernops
