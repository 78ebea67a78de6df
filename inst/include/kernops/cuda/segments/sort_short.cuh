// Sorting of short segments that are contiguous in shared memory: each in the registers of a thread or of some lanes of
// a warp, by a bitonic network (Batcher 1968) that begins each merge by mirroring one half.
#pragma once
#include <kernops/cuda/segments/merge_runs.cuh>
#include <kernops/cuda/segments/sort_keys.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Key> __device__ __forceinline__ KeyAlone<Key> from_lane(const KeyAlone<Key>& item, int by) {
  return {__shfl_xor_sync(all_lanes, item.key, by)};
}
template <class Key> __device__ __forceinline__ PlacedKey<Key> from_lane(const PlacedKey<Key>& item, int by) {
  return {__shfl_xor_sync(all_lanes, item.key, by), __shfl_xor_sync(all_lanes, item.place, by)};
}
__device__ __forceinline__ PlacedKey<unsigned> from_lane(const PlacedKey<unsigned>& item, int by) {
  return {__shfl_xor_sync(all_lanes, item.all, by)};
}

template <class Key, bool placed>
__device__ __forceinline__ SortItem<Key, placed> from_lane(const SortItem<Key, placed>& item, int by) {
  return {__shfl_xor_sync(all_lanes, item.key, by), __shfl_xor_sync(all_lanes, item.segment, by),
          placed ? __shfl_xor_sync(all_lanes, item.place, by) : 0};
}
template <bool placed>
__device__ __forceinline__ SortItem<unsigned, placed> from_lane(const SortItem<unsigned, placed>& item, int by) {
  return {__shfl_xor_sync(all_lanes, item.all, by)};
}

// Items of `lanes` neighbouring lanes, VT each: this lane keeps the smaller or the larger item of each pair.
template <int VT, class Item>
__device__ __forceinline__ void keep(Item (&mine)[VT], const Item (&other)[VT], bool larger) {
  KERNOPS_EACH(k, VT) mine[k] = (other[k] < mine[k]) != larger ? other[k] : mine[k];
}
template <int lanes, int VT, class Item> __device__ __forceinline__ void sort_across(Item (&mine)[VT]) {
  sort_by_network(mine);
  KERNOPS_UNROLL
  for (int size = 2; size <= lanes; size *= 2) {
    Item other[VT];
    KERNOPS_EACH(k, VT) other[k] = from_lane(mine[VT - 1 - k], size - 1);
    keep(mine, other, lane_id() & size / 2);
    KERNOPS_UNROLL
    for (int by = size / 4; by > 0; by /= 2) {
      KERNOPS_EACH(k, VT) other[k] = from_lane(mine[k], by);
      keep(mine, other, lane_id() & by);
    }
    KERNOPS_UNROLL
    for (int by = VT / 2; by > 0; by /= 2)
      KERNOPS_EACH(n, VT / 2) {
        const int i = n / by * 2 * by + n % by;
        const Item one = mine[i], next = mine[i + by];
        const bool turn = next < one;
        mine[i] = turn ? next : one, mine[i + by] = turn ? one : next;
      }
  }
}

// The begins of the segments of a piece among its items.
struct PieceSegments {
  const long long* offsets;
  long long first;
  int count, longest;
  __device__ __forceinline__ int begin(int s) const { return int(offsets[s] - first); }
};

// Sorts the segments of more than `least` and at most lanes * VT values.
template <int lanes, int VT, class Item>
__device__ __forceinline__ void sort_class(const PieceSegments& segments, Gapped<Item> items, int least) {
  if (segments.longest <= least) return;
  constexpr int across = 32 / lanes;
  const int lane = lane_id(), own = lane % lanes * VT;
  for (int base = threadIdx.x / 32 * across; base < segments.count; base += blockDim.x / lanes) {
    const int s = base + lane / lanes, from = s < segments.count ? segments.begin(s) : 0;
    int length = s < segments.count ? segments.begin(s + 1) - from : 0;
    if (length <= least || length > lanes * VT) length = 0;
    if (!__any_sync(all_lanes, length > 1)) continue;
    Item mine[VT];
    KERNOPS_EACH(k, VT) mine[k] = own + k < length ? items[from + own + k] : Item::last();
    sort_across<lanes>(mine);
    KERNOPS_EACH(k, VT)
      if (own + k < length) items[from + own + k] = mine[k];
  }
}

template <class Item> __device__ __forceinline__ void sort_each(const PieceSegments& segments, Gapped<Item> items) {
  constexpr int most = sizeof(Item) > 4 ? 16 : 32;  // number of items per lane, by its registers
  sort_class<1, 8>(segments, items, 0);
  sort_class<1, 16>(segments, items, 8);
  sort_class<32 / most, most>(segments, items, 16);
  sort_class<8, 8>(segments, items, 32);
  sort_class<8, 16>(segments, items, 64);
  sort_class<16, 16>(segments, items, 128);
  sort_class<32, 16>(segments, items, 256);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
