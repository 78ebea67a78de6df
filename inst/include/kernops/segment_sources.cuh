// Where the values of segments come from. A warp takes 32 * VT neighbours: it loads them as memory likes best, and turns
// them in shared memory, so that each lane has VT of its own in a row.
//
//   Source::Fetch<VT>   load(job, column, first, room): starts; position(k): which value of the warp's v[k] is
//                       turn(room): from then on v[k] is value number lane * VT + k
#pragma once
#include <kernops/portable.h>
#include <kernops/segment_job.h>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ int lane_id() { return threadIdx.x % 32; }
constexpr unsigned all_lanes = 0xffffffffu;

// Over the lanes before this one.
__device__ __forceinline__ int sum_below(int mine) {
  int sum = mine;
  KERNOPS_UNROLL
  for (int by = 1; by < 32; by *= 2) {
    const int left = __shfl_up_sync(all_lanes, sum, by);
    if (lane_id() >= by) sum += left;
  }
  return sum - mine;
}

__device__ __forceinline__ bool ends_at(const SegmentPlan& plan, int n) { return plan.ends[n / 32] >> n % 32 & 1; }

// N neighbouring numbers in one load.
template <int N, class T> struct alignas(N * sizeof(T)) Group { T v[N]; };

// Value number n of a warp in shared memory: after each lane's VT comes a gap of 16 bytes, for then the lanes' places
// start in different banks.
template <class T, int VT> struct Turn {
  static constexpr int gap = 16 / sizeof(T), room = 32 * (VT + gap);
  static __device__ __forceinline__ int place(int n) { return n / VT * (VT + gap) + n % VT; }
  static __device__ __forceinline__ void own(T (&v)[VT], const T* room) {
    using Quad = Group<gap, T>;
    KERNOPS_UNROLL
    for (int k = 0; k < VT; k += gap) {
      const Quad some = *reinterpret_cast<const Quad*>(room + lane_id() * (VT + gap) + k);
      KERNOPS_UNROLL
      for (int e = 0; e < gap; ++e) v[k + e] = some.v[e];
    }
  }
};

// Loads of 16 bytes each, side by side across the warp.
template <class T> struct Contiguous {
  using Value = T;
  static constexpr bool turned = false;
  static constexpr int quad = 16 / sizeof(T);

  template <int VT> struct Fetch {
    T v[VT];
    static __device__ __forceinline__ int position(int k) { return (k / quad * 32 + lane_id()) * quad + k % quad; }

    __device__ __forceinline__ void load(const SegmentJob& job, int column, int first, T*) {
      const T* x = static_cast<const T*>(job.x) + column * job.x_column + first;
      const int count = job.plan.count - first;
      if (count >= 32 * VT && reinterpret_cast<unsigned long long>(x) % 16 == 0) {
        KERNOPS_UNROLL
        for (int k = 0; k < VT; k += quad) {
          const auto some = *reinterpret_cast<const Group<quad, T>*>(x + position(k));
          KERNOPS_UNROLL
          for (int e = 0; e < quad; ++e) v[k + e] = some.v[e];
        }
      } else {  // beyond the last value stands any other: no segment ends after it
        KERNOPS_UNROLL
        for (int k = 0; k < VT; ++k) v[k] = x[position(k) < count ? position(k) : count - 1];
      }
    }
    __device__ __forceinline__ void turn(T* room) {
      KERNOPS_UNROLL
      for (int k = 0; k < VT; k += quad) {
        Group<quad, T> some;
        KERNOPS_UNROLL
        for (int e = 0; e < quad; ++e) some.v[e] = v[k + e];
        *reinterpret_cast<Group<quad, T>*>(room + Turn<T, VT>::place(position(k))) = some;
      }
      __syncwarp();
      Turn<T, VT>::own(v, room);
    }
  };
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
