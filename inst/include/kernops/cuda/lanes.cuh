// Functions for the lanes of a warp: exchange of plain structs between lanes, and transposition of the lanes' values.
#pragma once
#include <kernops/portable.h>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ int lane_id() { return threadIdx.x % 32; }
constexpr unsigned all_lanes = 0xffffffffu;

// Returns the struct of another lane. The function `shuffle` fetches one word of the struct at a time.
template <class S, class Shuffle> __device__ __forceinline__ S shuffled(const S& s, Shuffle shuffle) {
  constexpr int words = sizeof(S) / 4;
  static_assert(sizeof(S) % 4 == 0, "structs are exchanged in words");
  unsigned all[words];
  memcpy(all, &s, sizeof(S));
  KERNOPS_EACH(k, words) all[k] = shuffle(all[k]);
  S other;
  memcpy(&other, all, sizeof(S));
  return other;
}
template <class S> __device__ __forceinline__ S from_below(const S& s, int by) {
  return shuffled(s, [=](unsigned word) { return __shfl_up_sync(all_lanes, word, by); });
}
template <class S> __device__ __forceinline__ S from_above(const S& s, int by) {
  return shuffled(s, [=](unsigned word) { return __shfl_down_sync(all_lanes, word, by); });
}

// N neighbouring numbers, which one instruction loads.
template <int N, class T> struct alignas(N * sizeof(T)) Group { T v[N]; };

// The layout by which a warp transposes values in shared memory. The VT values of each lane are followed by a gap of 16
// bytes, so that lanes access different banks.
template <class T, int VT> struct Turn {
  static constexpr int gap = 16 / sizeof(T), room = 32 * (VT + gap);
  static __device__ __forceinline__ int place(int n) { return n / VT * (VT + gap) + n % VT; }
  static __device__ __forceinline__ void own(T (&v)[VT], const T* room, int lane = lane_id()) {
    using Quad = Group<gap, T>;
    KERNOPS_EVERY(k, gap, VT) {
      const Quad some = *reinterpret_cast<const Quad*>(room + lane * (VT + gap) + k);
      KERNOPS_EACH(e, gap) v[k + e] = some.v[e];
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
