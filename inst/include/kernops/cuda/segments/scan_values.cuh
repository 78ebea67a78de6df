// The tiles of a scan in memory: the values of each lane, the positions at which the scan starts again (cuts), and the
// positions of results.
#pragma once
#include <kernops/cuda/segments/reduce.cuh>
#include <kernops/cuda/segments/terms.cuh>
#include <kernops/jobs/device_scans.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// A source of values that are ordered by groups. Each result is written to the position of its value in x.
template <class T> struct Grouped {
  using Value = T;
  template <int VT> struct Fetch : Contiguous<T>::template Fetch<VT> {
    __device__ __forceinline__ void load(const SegmentRun& job, int column, int, int first) {
      KERNOPS_EACH(k, VT) {
        const int n = first + this->position(k), last = job.plan.count - 1;
        this->v[k] = value_at<T>(job, column, job.order[job.first + (n < last ? n : last)]);
      }
    }
  };
};

// The values of a scan; Source provides VT values for each lane. A reversed scan processes tiles, warps, lanes and
// values in the opposite order.
template <class Source, class Result, int VT, int warps, bool reverse> struct ScanValues {
  using V = typename Source::Value;
  using Values = typename Source::template Fetch<VT>;
  static constexpr int across = 32 * VT, size = warps * across, quad = Turn<V, VT>::gap;
  static constexpr int loading = Turn<V, VT>::room * sizeof(V), storing = Turn<Result, VT>::room * sizeof(Result);
  static constexpr int room = loading > storing ? loading : storing;

  // Bit k of `ends` is set if a segment ends with value k of the lane; bit k of `cuts` is set if the scan is cut after
  // this value. Value k in memory is value number(k) in the order of the scan.
  struct Lane {
    unsigned ends, cuts;
    int first;  // the position of value 0
    static KERNOPS_FN int number(int k) { return reverse ? VT - 1 - k : k; }
    __device__ __forceinline__ bool cut_after(int i) const { return cuts >> number(i) & 1; }
  };

  // Returns the first of the values that one load instruction reads together with the i-th value of the scan.
  static KERNOPS_FN int first_of(int i) { return Lane::number(i) / quad * quad; }
  static __device__ __forceinline__ int chunk() { return reverse ? 31 - lane_id() : lane_id(); }
  static __device__ __forceinline__ int tile_first(const ScanRun& job) {
    return int(reverse ? job.tiles - 1 - blockIdx.x : blockIdx.x) * size;
  }
  static __device__ __forceinline__ int warp_first(const ScanRun& job) {
    const int warp = threadIdx.x / 32;
    return tile_first(job) + (reverse ? warps - 1 - warp : warp) * across;
  }
  // True if the scan continues from the previous tile, without a cut.
  static __device__ __forceinline__ bool continues(const ScanRun& job) {
    const int edge = tile_first(job) + (reverse ? size : 0);
    return edge > 0 && edge < job.run.plan.count && !ends_at(job.run.plan, edge - 1);
  }

  // Loads the values of the warp. Values stay in shared memory, because registers are scarce while a tile waits for
  // other tiles. The values of a lane are contiguous.
  static __device__ __forceinline__ Lane load(const ScanRun& job, void* memory) {
    const SegmentPlan& plan = job.run.plan;
    const int first = warp_first(job);
    Lane lane;
    lane.first = first + chunk() * VT, lane.ends = 0, lane.cuts = ~0u;
    if (first >= plan.count) return lane;  // this warp has no values to scan
    Values values;
    values.load(job.run, blockIdx.y, 0, first);
    values.put(static_cast<V*>(memory));
    lane.cuts = lane.ends = ends_among<VT>(plan, lane.first);
    if (reverse) lane.cuts = lane.ends << 1 | unsigned(lane.first == 0 || ends_at(plan, lane.first - 1));
    return lane;
  }

  // Calls meet(i, x) for each value of the lane, in the order of the scan.
  template <class Meet> static __device__ __forceinline__ void each(const void* memory, Meet meet) {
    const V* const lane = static_cast<const V*>(memory) + chunk() * (VT + quad);
    KERNOPS_EVERY(begin, quad, VT) {
      const auto some = *reinterpret_cast<const Group<quad, V>*>(lane + first_of(begin));
      KERNOPS_EACH(e, quad) meet(begin + e, some.v[Lane::number(begin + e) % quad]);
    }
  }
  // Calls meet(i, x) for each value x of the lane, and replaces x by the value that meet() returns.
  template <class Meet> static __device__ __forceinline__ void replace(void* memory, Meet meet) {
    Result* const results = static_cast<Result*>(memory) + chunk() * (VT + Turn<Result, VT>::gap);
    if constexpr (sizeof(V) == sizeof(Result)) {
      KERNOPS_EVERY(begin, quad, VT) {
        const int first = first_of(begin);
        const auto some =
            *reinterpret_cast<const Group<quad, V>*>(static_cast<V*>(memory) + chunk() * (VT + quad) + first);
        Group<quad, Result> made;
        KERNOPS_EACH(e, quad) {
          const int k = Lane::number(begin + e) % quad;
          made.v[k] = meet(begin + e, some.v[k]);
        }
        *reinterpret_cast<Group<quad, Result>*>(results + first) = made;
      }
    } else {
      V own[VT];
      Turn<V, VT>::own(own, static_cast<const V*>(memory), chunk());
      __syncwarp();  // results are larger than values, so all lanes must read before one lane writes
      KERNOPS_EACH(i, VT) results[Lane::number(i)] = meet(i, own[Lane::number(i)]);
    }
    __syncwarp();
  }

  static __device__ __forceinline__ void store(const ScanRun& job, const Result* results) {
    using Place = Turn<Result, VT>;
    constexpr int gap = Place::gap;
    const int first = warp_first(job), count = job.run.plan.count - first;
    Result* const column = static_cast<Result*>(job.run.out) + blockIdx.y * job.run.out_column;
    Result* const out = column + job.run.first + first;
    if (job.run.order) {
      for (int n = lane_id(); n < across && n < count; n += 32)
        column[job.run.order[job.run.first + first + n]] = results[Place::place(n)];
    } else if (count >= across && reinterpret_cast<unsigned long long>(out) % 16 == 0) {
      KERNOPS_UNROLL
      for (int n = lane_id() * gap; n < across; n += 32 * gap)
        *reinterpret_cast<Group<gap, Result>*>(out + n) =
            *reinterpret_cast<const Group<gap, Result>*>(results + Place::place(n));
    } else {
      for (int n = lane_id(); n < across && n < count; n += 32) out[n] = results[Place::place(n)];
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
