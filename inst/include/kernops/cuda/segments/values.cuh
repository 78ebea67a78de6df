// Sources of the values of segments. A warp processes 32 * VT neighbouring values. Adjacent lanes load adjacent values.
// Then the warp transposes the values in shared memory, so that each lane has VT contiguous values.
//
// A source has a struct Fetch<VT>:
//   load(job, column, tile, first)   loads the values from position `first` on into v; the tile begins at `tile`
//   arrange(room)                    reorders v; position(k) is then the index of v[k]
//   turn(room)                       transposes v; lane * VT + k is then the index of v[k]
#pragma once
#include <kernops/portable.h>
#include <kernops/jobs/device_segments.h>
#include <kernops/cuda/kernel.cuh>
#include <kernops/cuda/lanes.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Returns the exclusive prefix sum over the lanes of the warp.
template <class N> __device__ __forceinline__ N sum_below(N mine) {
  N sum = mine;
  KERNOPS_UNROLL
  for (int by = 1; by < 32; by *= 2) {
    const N left = __shfl_up_sync(all_lanes, sum, by);
    if (lane_id() >= by) sum += left;
  }
  return sum - mine;
}

__device__ __forceinline__ bool ends_at(const SegmentPlan& plan, int n) { return plan.ends[n / 32] >> n % 32 & 1; }

// Returns the position of a segment's result. Positions count from the first result of the plan or, if the job has
// `rows`, from the first result of the whole input.
__device__ __forceinline__ long long result_row(const SegmentRun& job, int row) {
  return job.rows ? job.rows[row] : row;
}

// Converts a number of R to T. The smallest int, which stands for NA in R, becomes NaN.
template <class T, class V> KERNOPS_FN T number(V x) { return T(x); }
template <class T> KERNOPS_FN T number(int x) { return x == int(0x80000000) ? T(0) / T(0) : T(x); }

// Values that are contiguous in memory. Each lane loads 16 bytes at a time, and adjacent lanes load adjacent 16 bytes.
template <class T> struct Contiguous {
  using Value = T;
  static constexpr int quad = 16 / sizeof(T);

  template <int VT> struct Fetch {
    T v[VT];
    static __device__ __forceinline__ int position(int k) { return (k / quad * 32 + lane_id()) * quad + k % quad; }

    __device__ __forceinline__ void load(const SegmentRun& job, int column, int, int first) {
      const T* x = static_cast<const T*>(job.x) + column * job.x_column + job.first + first;
      const int count = job.plan.count - first;
      if (count >= 32 * VT && reinterpret_cast<unsigned long long>(x) % 16 == 0) {
        KERNOPS_EVERY(k, quad, VT) {
          const auto some = *reinterpret_cast<const Group<quad, T>*>(x + position(k));
          KERNOPS_EACH(e, quad) v[k + e] = some.v[e];
        }
      } else {  // after the last value, an arbitrary value is loaded, because no segment ends there
        KERNOPS_EACH(k, VT) v[k] = x[position(k) < count ? position(k) : count - 1];
      }
    }
    __device__ __forceinline__ void put(T* room) const {
      KERNOPS_EVERY(k, quad, VT) {
        Group<quad, T> some;
        KERNOPS_EACH(e, quad) some.v[e] = v[k + e];
        *reinterpret_cast<Group<quad, T>*>(room + Turn<T, VT>::place(position(k))) = some;
      }
      __syncwarp();
    }
    __device__ __forceinline__ void turn(T* room) {
      put(room);
      Turn<T, VT>::own(v, room);
    }
    __device__ __forceinline__ void arrange(T*) {}
  };
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
