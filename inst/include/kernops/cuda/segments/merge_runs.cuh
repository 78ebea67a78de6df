// Sorting within a block: a thread sorts a few items by a bitonic network (Batcher 1968). When the block merges two
// sorted runs, each thread merges a part of both runs. A binary search along a diagonal of the merge matrix finds where
// this part begins in each run (Green, McColl and Bader 2012).
#pragma once
#include <kernops/portable.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Items in shared memory, with a gap after each 16 items. A thread processes 16 or 8 consecutive items. The gaps ensure
// that neighbouring threads access different banks.
template <class Item> struct Gapped {
  Item* items;
  int first;
  __device__ __forceinline__ Item& operator[](int k) const { return items[first + k + (first + k) / 16]; }
  __device__ __forceinline__ Gapped from(int k) const { return {items, first + k}; }
};

// Returns how many of the first `along` items of the merged runs come from run `a`. If items are equal, items of run
// `a` come first.
template <class Items, class N>
__device__ __forceinline__ N share_of_first(Items a, N a_count, Items b, N b_count, N along) {
  N low = along > b_count ? along - b_count : 0, high = along < a_count ? along : a_count;
  while (low < high) {
    const N middle = (low + high) / 2;
    if (b[along - 1 - middle] < a[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// Stores VT items of the merged runs, from item `along` on. Items after the last item of the runs become `beyond`.
template <int VT, class Item>
__device__ __forceinline__ void merge_share(Item (&items)[VT], Gapped<Item> a, int a_count, Gapped<Item> b, int b_count,
                                            int along, const Item& beyond) {
  if (along > a_count + b_count) along = a_count + b_count;
  int from_a = share_of_first(a, a_count, b, b_count, along), from_b = along - from_a;
  KERNOPS_EACH(k, VT) {
    const bool in_a = from_a < a_count, in_b = from_b < b_count, takes_b = in_b && (!in_a || b[from_b] < a[from_a]);
    items[k] = takes_b ? b[from_b] : in_a ? a[from_a] : beyond;
    takes_b ? ++from_b : ++from_a;
  }
}

template <int VT, class Item> __device__ __forceinline__ void sort_by_network(Item (&items)[VT]) {
  KERNOPS_UNROLL
  for (int size = 2; size <= VT; size *= 2) KERNOPS_UNROLL
  for (int stride = size / 2; stride > 0; stride /= 2)
    KERNOPS_EACH(n, VT / 2) {
      const int i = n / stride * 2 * stride + n % stride;
      const Item one = items[i], other = items[i + stride];
      const bool turn = (i & size) != 0 && size < VT ? one < other : other < one;
      items[i] = turn ? other : one, items[i + stride] = turn ? one : other;
    }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
