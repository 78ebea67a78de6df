// Quantiles of moving windows of any lengths by a wavelet matrix (Claude and Navarro 2012). The time for a window is
// proportional to the number of bits of a key. The kernels are:
//
//   kernops_quantile_keys     stores a key for each value; keys have the same order as values
//   kernops_quantile_digits   for one level: sets a bit for each key with digit 0, and counts these bits in each block
//   kernops_quantile_blocks   counts the keys with digit 0 before each block
//   kernops_quantile_move     counts the keys with digit 0 before each word; moves these keys before the other keys
//   kernops_quantile_windows  descends the levels to find the quantiles of each window
//
// A digit is one bit of the keys. The first level has the highest digit, and the last level has the lowest digit. In
// each level, the keys of a window with equal higher digits form a contiguous range. In the next level, the keys of
// this range with digit 0 form a range, and so do the keys with digit 1.
#pragma once
#include <kernops/quantile_positions.h>
#include <kernops/cuda/segments/roll_windows.cuh>
#include <kernops/cuda/segments/sort_keys.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class V, class Stored> struct RollQuantiles {
  using T = typename Sorted<V>::T;
  using Keys = Keyed<T>;
  using Key = typename Keys::Key;
  static constexpr int levels = 8 * sizeof(Key);
  struct Range {
    int first, end;
    __device__ __forceinline__ int size() const { return end - first; }
  };

  static __device__ __forceinline__ int own() { return blockIdx.x * quantile_threads + threadIdx.x; }
  static __device__ __forceinline__ Key digit(int level) { return Key(1) << (levels - 1 - level); }

  static __device__ __forceinline__ void keys(const QuantileRun& job) {
    const int n = own();
    if (n >= job.roll.run.plan.count) return;
    const Key key = Keys{job.keys}.equal(Sorted<V>::of(static_cast<const V*>(job.roll.x)[n]), true);
    static_cast<Key*>(job.to)[n] = key;
    if (key >= Keys::left_out) *job.gaps = 1;
  }

  static __device__ __forceinline__ void digits(const QuantileRun& job) {
    const int n = own();
    const bool zero = n < job.roll.run.plan.count && !(static_cast<const Key*>(job.from)[n] & digit(job.level));
    const unsigned word = __ballot_sync(all_lanes, zero);
    if (lane_id() == 0 && n / 32 < job.words_count) job.words[(long long)job.level * job.words_count + n / 32] = word;
    const int zeros = __syncthreads_count(zero);
    if (threadIdx.x == 0) job.blocks[blockIdx.x] = zeros;
  }

  // Replaces the count of each block by the number of keys with digit 0 in earlier blocks. A single thread block
  // executes this kernel; each of its threads adds several adjacent counts.
  static __device__ __forceinline__ void blocks(const QuantileRun& job) {
    __shared__ int of_warps[quantile_threads / 32];
    const int each = (job.block_count + quantile_threads - 1) / quantile_threads, first = int(threadIdx.x) * each;
    const int end = first + each < job.block_count ? first + each : job.block_count;
    int sum = 0;
    for (int n = first; n < end; ++n) sum += job.blocks[n];
    int before = sum_below(sum);
    if (lane_id() == 31) of_warps[threadIdx.x / 32] = before + sum;
    __syncthreads();
    for (int n = 0; n < int(threadIdx.x) / 32; ++n) before += of_warps[n];
    for (int n = first; n < end; ++n) {
      const int count = job.blocks[n];
      job.blocks[n] = before, before += count;
    }
    if (threadIdx.x == quantile_threads - 1) job.zeros[job.level] = before;
  }

  static __device__ __forceinline__ void move(const QuantileRun& job) {
    constexpr int words = quantile_threads / 32;
    const int n = own(), warp = threadIdx.x / 32, earliest = blockIdx.x * words;
    const unsigned* const level = job.words + (long long)job.level * job.words_count;
    const bool earlier = lane_id() < warp && earliest + lane_id() < job.words_count;
    const int mine = earlier ? __popc(level[earliest + lane_id()]) : 0;
    const int before = job.blocks[blockIdx.x] + __shfl_sync(all_lanes, sum_below(mine) + mine, 31);
    if (n / 32 >= job.words_count) return;
    if (lane_id() == 0) job.before[(long long)job.level * job.words_count + n / 32] = before;
    if (n >= job.roll.run.plan.count) return;
    const unsigned word = level[n / 32], lower = (1u << lane_id()) - 1;
    const int zeros = before + __popc(word & lower);
    const bool zero = word >> lane_id() & 1;
    static_cast<Key*>(job.to)[zero ? zeros : job.zeros[job.level] + n - zeros] = static_cast<const Key*>(job.from)[n];
  }

  // Returns the range of the keys with digit 0 in the next level; `ones` receives the range of the keys with digit 1.
  static __device__ __forceinline__ Range part(const QuantileRun& job, int level, const Range& range, Range& ones) {
    const long long at = (long long)level * job.words_count;
    const auto zeros = [&](int n) {
      return int(job.before[at + n / 32]) + __popc(job.words[at + n / 32] & ((1u << n % 32) - 1));
    };
    const Range part{zeros(range.first), zeros(range.end)};
    const int all = job.zeros[level];
    ones = {all + range.first - part.first, all + range.end - part.end};
    return part;
  }
  // Returns the number of keys in the range that are less than `limit`.
  static __device__ __forceinline__ int below(const QuantileRun& job, Range range, Key limit) {
    int count = 0;
    for (int level = 0; level < levels && range.size() > 0; ++level) {
      Range ones;
      const Range zeros = part(job, level, range, ones);
      const bool up = limit & digit(level);
      if (up) count += zeros.size();
      range = up ? ones : zeros;
    }
    return count;
  }
  // Returns the value of the k-th smallest key of the range, where k counts from 0.
  static __device__ __forceinline__ double value(const QuantileRun& job, Range range, int k) {
    Key key = 0;
    for (int level = 0; level < levels; ++level) {
      Range ones;
      const Range zeros = part(job, level, range, ones);
      const bool up = k >= zeros.size();
      if (up) k -= zeros.size(), key |= digit(level);
      range = up ? ones : zeros;
    }
    return wide(Keys{job.keys}.value(key));
  }

  static __device__ __forceinline__ double quantile(const QuantileRun& job, const Range& range) {
    const int count = *job.gaps ? below(job, range, Keys::left_out) : range.size();
    if (count < range.size() && !job.skip_missing) return not_a_number<double>();
    if (count == 0) return job.roll.nothing;
    const QuantilePosition at = quantile_position(job.type, count, job.prob);
    const double lower = value(job, range, int(at.lower));
    if (!(at.share > 0) || at.upper == at.lower) return lower;
    return between(lower, value(job, range, int(at.upper)), at.share);
  }

  static __device__ __forceinline__ void windows(const QuantileRun& job) {
    each_window(job.roll, [&](int n, int, int from, int to, bool counts) {
      const double y = counts ? quantile(job, {from, to}) : job.roll.incomplete;
      Stored::put(roll_place<Stored>(job.roll, 0, n), typename Stored::Type(y));
    });
  }
};

#define KERNOPS_QUANTILE_KERNEL(name, V, Stored, function)                                                   \
  KERNOPS_KERNEL(__launch_bounds__(kernops::quantile_threads) kernops_quantile_##name, kernops::QuantileRun, \
                 kernops::RollQuantiles<V, kernops::Stored>::function)
#define KERNOPS_ROLL_QUANTILES(V, Stored)                                            \
  KERNOPS_KERNEL(kernops_roll_find_gap, kernops::RollRun, kernops::roll_find_gap<V>) \
  KERNOPS_QUANTILE_KERNEL(keys, V, Stored, keys)                                     \
  KERNOPS_QUANTILE_KERNEL(digits, V, Stored, digits)                                 \
  KERNOPS_QUANTILE_KERNEL(blocks, V, Stored, blocks)                                 \
  KERNOPS_QUANTILE_KERNEL(move, V, Stored, move)                                     \
  KERNOPS_QUANTILE_KERNEL(windows, V, Stored, windows)

}  // namespace KERNOPS_ISA
}  // namespace kernops
