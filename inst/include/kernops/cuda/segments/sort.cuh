// Sorts the values of segments by merging. The kernels are:
//
//   kernops_sort_short    sorts pieces of short segments, each segment separately (sort_short.cuh)
//   kernops_sort_medium   sorts pieces of longer segments, each of which fits into the memory of a block
//   kernops_sort_parts    sorts parts of long segments
//   kernops_sort_merge    merges runs of a long segment in pairs; each block computes a part of the result
//   kernops_sort_long     computes results of long sorted segments, with several blocks per segment
//   kernops_sort_count, kernops_sort_begins, kernops_sort_digit   sort very long segments by digits (sort_digits.cuh)
//
// A struct Finish computes results from sorted values (sorted_values.cuh, order_statistics.cuh). Finish has the
// members:
//
//   placed                       true if items contain their positions
//   apart                        true if NA and NaN are distinguished
//   whole(job, piece, items)     computes the results of the segments of a piece, with all threads of a block
//   store(job, position, item)   stores the result of one item of a long segment, or
//   whole_long(job, segment, begin, length, items)   computes the results of a long segment, by all of its blocks
#pragma once
#include <kernops/cuda/segments/merge_runs.cuh>
#include <kernops/cuda/segments/sort_digits.cuh>
#include <kernops/cuda/segments/sort_short.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class V, class Finish> struct SegmentSort {
  using T = typename Sorted<V>::T;
  using Key = typename SortKey<T>::Key;
  using Item = SortItem<Key, Finish::placed>;
  using Long = typename LongItem<Key, Finish::placed>::Item;
  static constexpr int capacity = sort_capacity(sizeof(Key)), threads = sort_threads, VT = capacity / threads,
                       room = capacity + capacity / 16,
                       resident_blocks = sizeof(Long) == 4    ? 4
                                         : sizeof(Long) == 16 ? 2
                                         : sizeof(Key) == 4   ? 3
                                                              : 2;
  static_assert(capacity * sizeof(Item) <= sort_bytes, "items fit");

  // For each word of the bits that mark ends of segments, counts the segments of the piece that end before the word.
  static __device__ __forceinline__ void count_ends(const SegmentPlan& plan, int first, int count, int* before) {
    if (threadIdx.x >= 32) return;
    const int words = (first + count + 31) / 32 - first / 32;
    int sum = 0;
    for (int n = lane_id(); n - lane_id() < words; n += 32) {
      unsigned word = n < words ? plan.ends[first / 32 + n] : 0;
      if (n == 0) word &= ~0u << first % 32;
      const int mine = __popc(word), below = sum_below(mine);
      if (n < words) before[n] = sum + below;
      sum += __shfl_sync(all_lanes, below + mine, 31);
    }
  }

  // Loads the items of a piece (consecutive segments that one block sorts). An item contains the number of its segment.
  static __device__ __forceinline__ void load(const SortRun& job, const SortPiece& piece, Gapped<Item> items) {
    __shared__ int before[capacity / 32 + 1];
    const unsigned* const ends = job.run.plan.ends;
    const int first = int(piece.first - job.run.first);
    count_ends(job.run.plan, first, piece.count, before);
    __syncthreads();
    load_keys(job, piece.first, [&](int k, auto key) {
      items[k] = Item::last();
      if (k >= piece.count) return;
      const int n = first + k;
      unsigned word = ends[n / 32] & ((1u << n % 32) - 1);
      if (n / 32 == first / 32) word &= ~0u << first % 32;
      items[k] = Item::of(unsigned(before[n / 32 - first / 32] + __popc(word)), key(), k);
    });
  }

  template <class Any> static __device__ __forceinline__ void put(const Any (&mine)[VT], Gapped<Any> items) {
    __syncthreads();
    KERNOPS_EACH(k, VT) items[threadIdx.x * VT + k] = mine[k];
    __syncthreads();
  }

  // Sorts the items of a block: each warp sorts its items in registers, and then sorted runs are merged pairwise.
  template <class Any> static __device__ __forceinline__ void sort_block(Gapped<Any> items, int count) {
    const int own = threadIdx.x * VT;
    Any mine[VT];
    KERNOPS_EACH(k, VT) mine[k] = items[own + k];
    if (threadIdx.x / 32 * 32 * VT < count) sort_across<32>(mine);
    put(mine, items);
    for (int width = 32 * VT; width < count; width *= 2) {
      const int pair = own / (2 * width) * 2 * width;
      const auto a = items.from(pair), b = items.from(pair + width);
      if (b[0] < b[-1]) merge_share(mine, a, width, b, width, own - pair, Any::last());
      put(mine, items);
    }
  }

  template <class Load>
  static __device__ __forceinline__ void load_keys(const SortRun& job, long long first, Load load) {
    KERNOPS_EACH(n, VT) {
      const int k = threadIdx.x + n * threads;
      load(k, [&] { return Finish::template key<V>(job, row_at(job.run, first + k)); });
    }
    __syncthreads();
  }

  static __device__ __forceinline__ void sort_short(const SortRun& job) {
    __shared__ Long memory[room];
    const Gapped<Long> items{memory, 0};
    const SortPiece piece = job.pieces[blockIdx.x];
    load_keys(job, piece.first, [&](int k, auto key) {
      if (k < piece.count) items[k] = Long::of(key(), unsigned(k));
    });
    sort_each(PieceSegments{job.run.offsets + piece.begin, piece.first, piece.segments, piece.longest}, items);
    __syncthreads();
    Finish::template whole<T>(job, piece, items);
  }

  static __device__ __forceinline__ void sort_medium(const SortRun& job) {
    __shared__ Item memory[room];
    const Gapped<Item> items{memory, 0};
    const SortPiece piece = job.pieces[blockIdx.x];
    load(job, piece, items);
    sort_block(items, piece.count);
    Finish::template whole<T>(job, piece, items);
  }

  static __device__ __forceinline__ void sort_parts(const SortRun& job) {
    __shared__ Long memory[room];
    const Gapped<Long> items{memory, 0};
    const SortPiece piece = job.pieces[blockIdx.x];
    const unsigned place = unsigned(piece.first - piece.begin);
    load_keys(job, piece.first,
              [&](int k, auto key) { items[k] = k < piece.count ? Long::of(key(), place + k) : Long::last(); });
    sort_block(items, piece.count);
    for (int k = threadIdx.x; k < piece.count; k += threads)
      static_cast<Long*>(job.to)[piece.first + k - job.run.first] = items[k];
  }

  static __device__ __forceinline__ void merge(const SortRun& job) {
    __shared__ Long memory[room];
    const Gapped<Long> items{memory, 0};
    __shared__ long long shares[2];
    const SortPiece piece = job.pieces[blockIdx.x];
    const long long width = job.width, along = (piece.first - piece.begin) % (2 * width), base = piece.first - along,
                    left = piece.end - base, a_count = left < width ? left : width,
                    b_count = left < 2 * width ? left - a_count : width;
    const Long* const a = static_cast<const Long*>(job.from) + (base - job.run.first);
    const Long* const b = a + a_count;
    if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
      const int edge = threadIdx.x / 32;
      shares[edge] = share_of_first(a, a_count, b, b_count, along + (edge ? piece.count : 0));
    }
    __syncthreads();
    const long long from_a = shares[0], from_b = along - from_a;
    const int of_a = int(shares[1] - from_a), of_b = piece.count - of_a;
    for (int k = threadIdx.x; k < piece.count; k += threads) items[k] = k < of_a ? a[from_a + k] : b[from_b + k - of_a];
    __syncthreads();
    Long mine[VT];
    merge_share(mine, items, of_a, items.from(of_a), of_b, int(threadIdx.x) * VT, Long::last());
    put(mine, items);
    for (int k = threadIdx.x; k < piece.count; k += threads)
      if (job.to)
        static_cast<Long*>(job.to)[piece.first + k - job.run.first] = items[k];
      else
        Finish::template store<T>(job, piece, piece.first + k, items[k]);
  }

  static __device__ __forceinline__ void finish_long(const SortRun& job) {
    const long long segment = job.long_segments[blockIdx.x], begin = job.run.offsets[segment];
    Finish::template whole_long<T>(job, segment, begin, int(job.run.offsets[segment + 1] - begin),
                                   static_cast<const Long*>(job.from) + (begin - job.run.first));
  }
};

#define KERNOPS_SORT_KERNEL(name, V, Finish, function)                                           \
  KERNOPS_KERNEL(__launch_bounds__(kernops::sort_threads) kernops_sort_##name, kernops::SortRun, \
                 kernops::SegmentSort<V, kernops::Finish>::function)
// The entry point of short sorts; with more resident blocks, the compiler would spill registers.
#define KERNOPS_SORT_SHORT(V, Finish)                                                                                \
  KERNOPS_KERNEL(__launch_bounds__(kernops::sort_threads, kernops::SegmentSort<V, kernops::Finish>::resident_blocks) \
                     kernops_sort_short,                                                                             \
                 kernops::SortRun, kernops::SegmentSort<V, kernops::Finish>::sort_short)
#define KERNOPS_DIGIT_KERNEL(name, V, Finish, function)                                              \
  KERNOPS_KERNEL(__launch_bounds__(kernops::digit_threads, 2) kernops_sort_##name, kernops::SortRun, \
                 kernops::DigitSort<V, kernops::Finish>::function)
// The entry points of all kernels. Finish is the last macro argument, because Finish may contain commas.
#define KERNOPS_SEGMENT_SORT(V, ...)                      \
  namespace kernops {                                     \
  using SortFinish = __VA_ARGS__;                         \
  }                                                       \
  KERNOPS_SORT_SHORT(V, SortFinish)                       \
  KERNOPS_SORT_KERNEL(medium, V, SortFinish, sort_medium) \
  KERNOPS_SORT_KERNEL(parts, V, SortFinish, sort_parts)   \
  KERNOPS_SORT_KERNEL(merge, V, SortFinish, merge)        \
  KERNOPS_SORT_KERNEL(long, V, SortFinish, finish_long)   \
  KERNOPS_DIGIT_KERNEL(count, V, SortFinish, count)       \
  KERNOPS_DIGIT_KERNEL(begins, V, SortFinish, begins)     \
  KERNOPS_DIGIT_KERNEL(digit, V, SortFinish, pass)

}  // namespace KERNOPS_ISA
}  // namespace kernops
