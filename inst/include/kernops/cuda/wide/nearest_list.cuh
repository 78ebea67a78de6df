// Lists of the columns near a row, in the registers of a warp.
#pragma once
#include <kernops/jobs/nearest.h>
#include <kernops/state.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ int lane_of_warp() { return threadIdx.x % 32; }

// The column that a lane holds, with its `number`, which is a distance or a bound. The column with the smallest number
// is the nearest column. If numbers are equal, the column with the smaller index is nearer.
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
  // Compares this lane's column with another lane's column, and keeps the nearer (if `nearer`) or the farther column.
  __device__ __forceinline__ void exchange(int lane, bool nearer) {
    const OfLane other = of(lane);
    if ((other < *this) == nearer) *this = other;
  }
  // sort() sorts the columns of all lanes by a bitonic network, nearest first. sort_parts(32) sorts columns that
  // already form a bitonic sequence.
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

// The list of the nearest columns so far; lane l of a warp holds the entries l + 32 n of the list, for n = 0, 1, ...
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
  // Adds one new column per lane to the list. The list consists of sorted parts of 32 columns. The nearest 32 of the
  // new columns and the first part become the first part; the remaining 32 columns are merged with the next part in the
  // same way.
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
