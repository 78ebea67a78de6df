// Access to the sorted values of a segment.
#pragma once
#include <kernops/cuda/segments/sort.cuh>
#include <kernops/cuda/segments/teams.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The count or total weight of a value, and the first position of the value in the segment.
struct Frequency {
  double weight;
  int place, index;
  __device__ __forceinline__ bool operator<(const Frequency& other) const {
    return weight < other.weight || (weight == other.weight && place > other.place);
  }
};

__device__ __forceinline__ Frequency from_lane(const Frequency& x, int by) {
  return {from_lane(x.weight, by), from_lane(x.place, by), from_lane(x.index, by)};
}
struct Sum {
  __device__ __forceinline__ int operator()(int a, int b) const { return a + b; }
};
struct MoreFrequent {
  __device__ __forceinline__ Frequency operator()(const Frequency& a, const Frequency& b) const {
    return a < b ? b : a;
  }
};

// The sorted items of a segment, in shared memory or in device memory. Positions count from the first value of the
// segment.
template <class T_, class Items> struct Ordered {
  using T = T_;
  using Keys = Keyed<T>;
  using Key = typename Keys::Key;
  const SortRun& job;
  const Items items;
  const long long segment, begin;
  // length: number of values; shift: what place() subtracts from the position that an item contains
  const int length, shift;

  __device__ __forceinline__ Ordered(const SortRun& job, const Items& items, long long segment, long long begin,
                                     int length, int shift)
      : job(job), items(items), segment(segment), begin(begin), length(length), shift(shift) {}

  __device__ __forceinline__ Key key(int k) const { return key_of(items[k]); }
  __device__ __forceinline__ double value(int k) const { return wide(Keys{job}.value(key(k))); }
  __device__ __forceinline__ int place(int k) const { return place_of(items[k]) - shift; }
  __device__ __forceinline__ long long row(int k) const { return row_at(job.run, begin + place(k)); }
  __device__ __forceinline__ double weight(int k) const { return partner_at<double>(job.run, 0, row(k)); }
  __device__ __forceinline__ void give(int output, double result) const {
    static_cast<double*>(job.run.out)[output * job.how.outputs_apart + result_row(job.run, int(segment))] = result;
  }

  // Returns the number of values whose keys are less than `limit`. The keys of the first `low` values must be less than
  // `limit`.
  __device__ __forceinline__ int below(Key limit, int low = 0) const {
    int high = length;
    if (low < high && key(high - 1) < limit) return high;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (key(middle) < limit)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  // The first position of the run of values equal to value k, and the end of this run.
  __device__ __forceinline__ int run_begin(int k) const { return k == 0 || key(k - 1) != key(k) ? k : below(key(k)); }
  __device__ __forceinline__ int run_end(int k) const {
    return k + 1 == length || key(k + 1) != key(k) ? k + 1 : below(key(k) + 1, k);
  }
  struct Range {
    int first, last;
  };
  // The range of positions with numbers. Missing values come before or after this range.
  __device__ __forceinline__ Range numbers_around_gaps() const { return {below(2), below(Keys::left_out)}; }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
