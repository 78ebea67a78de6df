// Stable ranks of the items of a block by one digit of their keys (Merrill and Grimshaw 2011). Ballots find the lanes
// of a warp with the same digit. Counters in shared memory count two kinds of items: items with smaller digits, and
// items of earlier warps with the same digit.
#pragma once
#include <kernops/cuda/segments/sort_keys.cuh>
#include <kernops/cuda/segments/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Item> __device__ __forceinline__ unsigned digit_of(const Item& item, int bit) {
  return unsigned(key_of(item) >> bit) & (digit_count - 1);
}

// A lane has VT items, and a warp has 32 * VT neighbouring items. Item k of a lane is item place(k) of the block.
template <int threads, int VT> struct DigitRanks {
  static constexpr int warps = threads / 32;
  static_assert(threads >= digit_count && threads * VT < 65536, "a thread for each digit, and 16 bits of counts");
  struct Memory {
    unsigned short of_warp[warps][digit_count];
    int of_lanes[digit_count / 32];
  };
  Memory& memory;

  static __device__ __forceinline__ int place(int k) { return int(threadIdx.x) / 32 * 32 * VT + 32 * k + lane_id(); }

  static __device__ __forceinline__ unsigned lanes_with(unsigned digit) {
    unsigned same = all_lanes;
    KERNOPS_EACH(b, digit_bits) {
      const int bit = int(digit << (31 - b)) >> 31;  // 0 or -1
      same &= ~(__ballot_sync(all_lanes, bit) ^ unsigned(bit));
    }
    return same;
  }

  // Computes the ranks. The thread of each digit calls known(digit, count) as soon as it has counted the items of the
  // block with this digit. Then the thread calls begins(digit, number of items with smaller digits). All threads pass a
  // barrier before ranks are written.
  template <class Digit, class Known, class Begins>
  __device__ __forceinline__ void operator()(const Digit& digit, int (&ranks)[VT], Known known, Begins begins) const {
    unsigned short* const mine = memory.of_warp[threadIdx.x / 32];
    KERNOPS_EACH(k, digit_count / 64) reinterpret_cast<unsigned*>(mine)[32 * k + lane_id()] = 0;
    __syncwarp();
    KERNOPS_EACH(k, VT) {
      const unsigned d = digit(k), same = lanes_with(d);
      const int earlier = mine[d], below = __popc(same & ((1u << lane_id()) - 1));
      ranks[k] = earlier + below;
      __syncwarp();
      if (below == 0) mine[d] = (unsigned short)(earlier + __popc(same));
      __syncwarp();
    }
    __syncthreads();
    const int d = threadIdx.x;
    int count = 0, below = 0;
    if (d < digit_count) {
      KERNOPS_EACH(w, warps) count += memory.of_warp[w][d];
      known(d, count);
      below = sum_below(count);
      if (d % 32 == 31) memory.of_lanes[d / 32] = below + count;
    }
    __syncthreads();
    if (d < digit_count) {
      for (int n = 0; n < d / 32; ++n) below += memory.of_lanes[n];
      begins(d, below);
      KERNOPS_EACH(w, warps) {
        const int here = memory.of_warp[w][d];
        memory.of_warp[w][d] = (unsigned short)below, below += here;
      }
    }
    __syncthreads();
    KERNOPS_EACH(k, VT) ranks[k] += mine[digit(k)];
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
