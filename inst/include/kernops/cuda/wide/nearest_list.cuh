// Lists of the columns near a row, in the registers of a warp.
#pragma once
#include <kernops/jobs/nearest.h>
#include <kernops/state.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ int lane_of_warp() { return threadIdx.x % 32; }

// Each lane holds a column and its `number`, a distance or a bound. The column with the smallest number is the nearest;
// among columns with equal numbers, the first one.
template <class T> struct OfLane {
  T number;
  int column;

  static __device__ __forceinline__ OfLane none() { return {infinity<T>(), 0x7fffffff}; }
  __device__ __forceinline__ bool operator<(const OfLane& other) const {
    return number < other.number || (number == other.number && column < other.column);
  }
  __device__ __forceinline__ OfLane of(int lane) const {
    return {__shfl_sync(~0u, number, lane), __shfl_sync(~0u, column, lane)};
  }
  // Keeps the nearer, or the farther, of this lane's column and another lane's column.
  __device__ __forceinline__ void exchange(int lane, bool nearer) {
    const OfLane other = of(lane);
    if ((other < *this) == nearer) *this = other;
  }
  // Sorts the lanes' columns, nearest first: from any order, or from a bitonic sequence.
  __device__ __forceinline__ void sort() {
    KERNOPS_UNROLL_BY(1)
    for (int length = 2; length <= 32; length *= 2) sort_parts(length);
  }
  __device__ __forceinline__ void sort_parts(int length) {
    const bool ascends = length == 32 || (lane_of_warp() & length) == 0;
    KERNOPS_UNROLL_BY(1)
    for (int step = length / 2; step > 0; step /= 2)
      exchange(lane_of_warp() ^ step, ascends == ((lane_of_warp() & step) == 0));
  }
};

// The list of the nearest columns so far; lane l of a warp holds entries l + 32 n of the list.
template <class T, int listed> struct NearestOfWarp {
  static constexpr int parts = listed / 32;
  OfLane<T> part[parts];

  __device__ __forceinline__ void clear() {
    KERNOPS_EACH(n, parts) part[n] = OfLane<T>::none();
  }
  __device__ __forceinline__ void get(const Neighbour* list) {
    KERNOPS_EACH(n, parts) part[n] = {list[32 * n + lane_of_warp()].number, list[32 * n + lane_of_warp()].column};
  }
  __device__ __forceinline__ void put(Neighbour* list) const {
    KERNOPS_EACH(n, parts) list[32 * n + lane_of_warp()] = {part[n].number, part[n].column};
  }
  __device__ __forceinline__ T at(int n) const {
    T found = 0;
    KERNOPS_EACH(p, parts)
      if (n / 32 == p) found = __shfl_sync(~0u, part[p].number, n % 32);
    return found;
  }
  // Adds one new column per lane to the list. The nearest 32 among the new columns and the first part of the list
  // become the first part; the other 32 are then merged with the next part in the same way.
  __device__ __forceinline__ void join(OfLane<T> some) {
    some.sort();
    join_sorted(some);
  }
  __device__ __forceinline__ void join_sorted(OfLane<T> some) {
    KERNOPS_EACH(n, parts) {
      const OfLane<T> turned = some.of(31 - lane_of_warp());
      const bool stays = part[n] < turned;
      if (__all_sync(~0u, stays)) continue;
      some = stays ? turned : part[n];
      if (!stays) part[n] = turned;
      part[n].sort_parts(32);
      if (n + 1 < parts) some.sort_parts(32);
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
