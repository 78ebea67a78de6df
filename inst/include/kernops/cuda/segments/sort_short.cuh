// Sorts short segments that are contiguous in shared memory. Each segment is sorted in the registers of a thread or of
// some lanes of a warp, by a bitonic network (Batcher 1968) that begins each merge by mirroring one half.
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

// One exchange step of a bitonic network. This lane compares its VT items with the items of another lane, and keeps the
// smaller or the larger item of each pair.
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

// The segments of a piece: consecutive segments that one block sorts. begin(s) is the first item of segment s.
struct PieceSegments {
  const long long* offsets;
  long long first;
  int count, longest;
  __device__ __forceinline__ int begin(int s) const { return int(offsets[s] - first); }
};

// Lists the segments of a piece by class, where a class is a range of lengths.
template <int classes> struct SegmentClasses {
  int begins[classes + 1], counts[classes];
  unsigned short numbers[sort_bytes / 8];

  // class_of(length) returns the class of a segment, or `classes` if the segment needs no sort. If several lanes of a
  // warp have segments of the same class, they reserve positions in the list by one atomic addition.
  template <class ClassOf> __device__ __forceinline__ void list(const PieceSegments& segments, ClassOf class_of) {
    for (int pass = 0; pass < 2; ++pass) {
      if (threadIdx.x < classes) counts[threadIdx.x] = 0;
      __syncthreads();
      for (int base = threadIdx.x / 32 * 32; base < segments.count; base += blockDim.x) {
        const int s = base + lane_id();
        const int own = s < segments.count ? class_of(segments.begin(s + 1) - segments.begin(s)) : classes;
        for (int c = 0; c < classes; ++c) {
          const unsigned votes = __ballot_sync(all_lanes, own == c);
          int from = 0;
          if (votes && lane_id() == 0) from = atomicAdd(counts + c, __popc(votes));
          from = __shfl_sync(all_lanes, from, 0) + __popc(votes & ((1u << lane_id()) - 1));
          if (pass == 1 && own == c) numbers[begins[c] + from] = (unsigned short)(s);
        }
      }
      __syncthreads();
      if (pass == 0 && threadIdx.x == 0) {
        begins[0] = 0;
        for (int c = 0; c < classes; ++c) begins[c + 1] = begins[c] + counts[c];
      }
      __syncthreads();
    }
  }
};

// Sorts `count` segments of at most lanes * VT values.
template <int lanes, int VT, class Item>
__device__ __forceinline__ void sort_class(const PieceSegments& segments, Gapped<Item> items,
                                           const unsigned short* numbers, int count) {
  constexpr int across = 32 / lanes;
  const int lane = lane_id(), own = lane % lanes * VT;
  for (int base = threadIdx.x / 32 * across; base < count; base += blockDim.x / lanes) {
    const int n = base + lane / lanes, s = n < count ? numbers[n] : 0, from = segments.begin(s);
    const int length = n < count ? segments.begin(s + 1) - from : 0;
    Item mine[VT];
    KERNOPS_EACH(k, VT) mine[k] = own + k < length ? items[from + own + k] : Item::last();
    sort_across<lanes>(mine);
    KERNOPS_EACH(k, VT)
      if (own + k < length) items[from + own + k] = mine[k];
  }
}

// Sorts segments of 257 to 512 values with few registers: a warp sorts the first 256 values, then the other values, and
// merges the two runs.
template <class Item>
__device__ __forceinline__ void sort_by_halves(const PieceSegments& segments, Gapped<Item> items,
                                               const unsigned short* numbers, int count) {
  constexpr int VT = 8, half = 32 * VT;
  const int lane = lane_id();
  for (int n = threadIdx.x / 32; n < count; n += blockDim.x / 32) {
    const int from = segments.begin(numbers[n]), length = segments.begin(numbers[n] + 1) - from;
    for (int run = 0; run < length; run += half) {
      const int own = run + lane * VT;
      Item mine[VT];
      KERNOPS_EACH(k, VT) mine[k] = own + k < length ? items[from + own + k] : Item::last();
      sort_across<32>(mine);
      KERNOPS_EACH(k, VT)
        if (own + k < length) items[from + own + k] = mine[k];
    }
    __syncwarp();
    const int own = lane * 2 * VT;
    Item mine[2 * VT];
    merge_share(mine, items.from(from), half, items.from(from + half), length - half, own, Item::last());
    __syncwarp();
    KERNOPS_EACH(k, 2 * VT)
      if (own + k < length) items[from + own + k] = mine[k];
  }
}

template <class Item> __device__ __forceinline__ void sort_each(const PieceSegments& segments, Gapped<Item> items) {
  // `most` is the number of items that the registers of a lane can hold
  constexpr int classes = 7, most = sizeof(Item) > 8 ? 8 : sizeof(Item) > 4 ? 16 : 32, some = most < 16 ? most : 16;
  __shared__ SegmentClasses<classes> lists;
  lists.list(segments, [](int length) {  // up to 8, 16, ..., 512 values
    int c = length < 2 ? classes : 0;
    for (int most = 8; most < short_segment; most *= 2) c += length > most;
    return c;
  });
  const auto sort = [&](auto sort_some, int c) {
    sort_some(lists.numbers + lists.begins[c], lists.begins[c + 1] - lists.begins[c]);
  };
#define KERNOPS_SORT_CLASS(c, lanes, VT) \
  sort([&](const unsigned short* numbers, int count) { sort_class<lanes, VT>(segments, items, numbers, count); }, c);
  KERNOPS_SORT_CLASS(0, 1, 8)
  KERNOPS_SORT_CLASS(1, 16 / some, some)
  KERNOPS_SORT_CLASS(2, 32 / most, most)
  KERNOPS_SORT_CLASS(3, 8, 8)
  KERNOPS_SORT_CLASS(4, 128 / some, some)
  KERNOPS_SORT_CLASS(5, 256 / some, some)
  if constexpr (sizeof(Item) > 8)
    sort([&](const unsigned short* numbers, int count) { sort_by_halves(segments, items, numbers, count); }, 6);
  else
    KERNOPS_SORT_CLASS(6, 32, 16)
#undef KERNOPS_SORT_CLASS
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
