// The slabs of entries in which sums of long vectors are made (cuda/wide/spread.cuh), and those of the lanes in shared
// memory.
#pragma once
#include <kernops/cuda/wide/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Which numbers multiply matrices here; void where tensor cores do not.
template <class T, bool> struct NumbersFor { using type = void; };
template <> struct NumbersFor<float, true> { using type = Floats; };
template <> struct NumbersFor<double, true> { using type = Doubles; };
template <class T>
using MatrixNumbers = typename NumbersFor<T, sizeof(T) == 4 ? multiplies_floats : multiplies_doubles>::type;

// A slab of entries: some runs, of which thread j of 4 has the totals of some units of 16 bytes, after those of j - 1.
template <class T, int some_units, int some_runs> struct Slab {
  static constexpr int unit = 16 / sizeof(T), units = some_units, own = units * unit, run = 4 * own, runs = some_runs,
                       size = runs * run;
  static __device__ __forceinline__ int first(int q) { return q * run + OwnPairs<1>::j() * own; }
};

// The slab of the vectors of a tile's lanes in shared memory. Of a run, unit u of a lane stands at slot(lane,
// u): a warp reads an eighth of the runs of 4 lanes, every second one, without bank conflicts.
template <class T, int lanes, class S> struct LaneSlab {
  static constexpr int units = 4 * S::units, eighth = S::run / 8;
  alignas(16) T v[S::size * lanes];

  static __device__ __forceinline__ int slot(int lane, int u) {
    return (u / 4 * lanes / 2 + lane / 2) * 8 + ((lane % 2 * 4 + u % 4) ^ lane / 2 % 4 * 2);
  }
  static __device__ __forceinline__ int place(int run, int lane, int u) {
    return (run * lanes * units + slot(lane, u)) * S::unit;
  }
  __device__ __forceinline__ Few<eighth, T> part(int run, int lane, int n) const {
    return few<eighth>(v + place(run, lane, n * eighth / S::unit) + n * eighth % S::unit);
  }
  // Of every 32nd lane, a thread sends one unit of 4: each(unit, lane, its first entry in the slab).
  template <class Each> __device__ __forceinline__ void own_units(Each each) {
    KERNOPS_UNROLL
    for (int lane = threadIdx.x / 4; lane < lanes; lane += 32) KERNOPS_UNROLL
    for (int four = 0; four < S::units * S::runs; ++four) {
      const int run = four / S::units, u = four % S::units * 4 + threadIdx.x % 4;
      each(v + place(run, lane, u), lane, run * S::run + u * S::unit);
    }
  }

  // Those from `base` on, of vectors that end at `end`; zeros for lanes that there are not.
  __device__ __forceinline__ void send(const TilePlace<T>& at, int offset, int base, int end) {
    own_units([&](T* to, int lane, int entry) {
      const int left = lane < at.lane_count ? (end - base - entry) * int(sizeof(T)) : 0;
      const T* from = at.lanes + offset + (lane < at.lane_count ? lane : 0) * (long long)at.lane_stride;
      kernops::send(to, from + base + entry, left > 16 ? 16 : left < 0 ? 0 : left);
    });
  }
  // Takes the centre from what this thread has sent, unless its offset is -1. The result is 0 where all is
  // finite.
  __device__ __forceinline__ T take_centre(const T* once, int base, int end, int centre) {
    T check = 0;
    own_units([&](T* there, int, int entry) {
      KERNOPS_UNROLL
      for (int e = 0; e < S::unit; ++e) {
        if (centre >= 0 && base + entry + e < end) there[e] -= once[centre + base + entry + e];
        check += there[e] * T(0);
      }
    });
    return check;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
