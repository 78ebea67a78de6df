// Results of sorts: the sorted values, their rows, their ranks, or the first values of each segment.
#pragma once
#include <kernops/cuda/segments/ordered.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The base class of results that are computed from each item separately.
template <class Finish> struct ItemByItem {
  template <class V> static __device__ __forceinline__ auto key(const SortRun& job, long long row) {
    using Keys = Keyed<typename Sorted<V>::T>;
    const auto x = Sorted<V>::of(value_at<V>(job.run, 0, row));
    return Finish::placed ? Keys{job}.equal(x, false) : Keys{job}.of(x);
  }
  template <class T, class Items>
  static __device__ __forceinline__ void whole(const SortRun& job, const SortPiece& piece, Items items) {
    for (int k = threadIdx.x; k < piece.count; k += blockDim.x)
      Finish::template give<T>(job, piece.first + k, piece.first, items[k]);
  }
  template <class T, class Item>
  static __device__ __forceinline__ void store(const SortRun& job, const SortPiece& piece, long long position,
                                               const Item& item) {
    Finish::template give<T>(job, position, piece.begin, item);
  }
  template <class T, class Item>
  static __device__ __forceinline__ void whole_long(const SortRun&, long long, long long, int, const Item*) {}
};

template <class Result> struct SortedValues : ItemByItem<SortedValues<Result>> {
  static constexpr bool placed = false;
  template <class T, class Item>
  static __device__ __forceinline__ void give(const SortRun& job, long long position, long long, const Item& item) {
    static_cast<Result*>(job.run.out)[row_at(job.run, position)] = Result(Keyed<T>{job}.value(key_of(item)));
  }
};

// The rows of x (counted from 1) in the order of the sorted values of each segment.
struct SortedRows : ItemByItem<SortedRows> {
  static constexpr bool placed = true;
  template <class T, class Item>
  static __device__ __forceinline__ void give(const SortRun& job, long long position, long long from,
                                              const Item& item) {
    static_cast<double*>(job.run.out)[position - job.run.first] = double(row_at(job.run, from + place_of(item)) + 1);
  }
};

// The base class of results that need the whole segment.
template <class Finish> struct BySegment {
  template <class T, class Items>
  static __device__ __forceinline__ void whole(const SortRun& job, const SortPiece& piece, Items items) {
    Finish::template each_segment<T>(piece.segments, [&](long long s, const auto& team) {
      const long long begin = job.run.offsets[piece.begin + s];
      const int from = int(begin - piece.first), length = int(job.run.offsets[piece.begin + s + 1] - begin);
      const auto here = items.from(from);
      Finish::template give<T>(Ordered<T, decltype(here)>(job, here, piece.begin + s, begin, length, from), team);
    });
  }
  template <class T, class Item>
  static __device__ __forceinline__ void whole_long(const SortRun& job, long long segment, long long begin, int length,
                                                    const Item* items) {
    Finish::template give<T>(Ordered<T, const Item*>(job, items, segment, begin, length, 0), Blocks(job));
  }
  template <class T, class Item>
  static __device__ __forceinline__ void store(const SortRun&, const SortPiece&, long long, const Item&) {}

  // Calls give() for each segment of a piece: with one warp per segment or, if there are many segments, with one thread
  // per segment.
  template <class T, class Give> static __device__ __forceinline__ void each_segment(int count, Give give) {
    if (count >= 32)
      for (int s = threadIdx.x; s < count; s += blockDim.x) give(s, Team<1>());
    else
      for (int s = threadIdx.x / 32; s < count; s += blockDim.x / 32) give(s, Team<32>());
  }
};

struct SortedRanks : BySegment<SortedRanks> {
  static constexpr bool placed = true;
  template <class V> static __device__ __forceinline__ auto key(const SortRun& job, long long row) {
    return ItemByItem<SortedRanks>::key<V>(job, row);
  }
  // The rank of value k of a segment. The values at positions `begin` to `end` - 1 are tied with value k.
  static __device__ __forceinline__ double rank(int ties, int begin, int end, int k) {
    if (ties == 0) return (begin + 1 + end) / 2.0;
    return ties == 1 ? k + 1 : ties == 2 ? begin + end - k : ties == 3 ? begin + 1 : end;
  }
  template <class T, class X, class G> static __device__ __forceinline__ void give(const X& x, const G& team) {
    const OrderHow& how = x.job.how;
    const auto numbers = x.numbers_around_gaps();
    for (int k = team.rank(); k < x.length; k += team.size()) {
      const bool gap = k < numbers.first || k >= numbers.last;
      const double own = gap ? k + 1 : rank(how.ties, x.run_begin(k), x.run_end(k), k);
      static_cast<double*>(x.job.run.out)[x.row(k)] = gap && how.keep_missing ? missing() : own;
    }
  }
};

// The first values of each sorted segment, their positions (from 1) and their rows (from 1).
struct SortedTop : BySegment<SortedTop> {
  static constexpr bool placed = true;
  template <class V> static __device__ __forceinline__ auto key(const SortRun& job, long long row) {
    return ItemByItem<SortedTop>::key<V>(job, row);
  }
  template <class T, class X, class G> static __device__ __forceinline__ void give(const X& x, const G& team) {
    const int top = x.job.how.top, numbers = x.numbers_around_gaps().last;
    for (int k = team.rank(); k < top; k += team.size()) {
      const bool there = k < numbers;
      x.give(k, there ? x.value(k) : missing());
      x.give(top + k, there ? double(x.place(k) + 1) : missing());
      x.give(2 * top + k, there ? double(x.row(k) + 1) : missing());
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
