// Sorts all long segments at once, by one stable pass for each digit of the keys, from the lowest digit to the highest
// (Adinets and Merrill 2022):
//
//   kernops_sort_count    stores the items, and counts each digit of the keys of each segment
//   kernops_sort_begins   computes the position where the keys with each digit begin
//   kernops_sort_digit    one pass: each block moves the items of one tile
//
// In a pass, a block ranks the items of its tile by the digit. The block publishes its count of each digit. The block
// then waits for the counts of the earlier tiles of the segment, and adds these counts. This wait always ends: the
// blocks of earlier tiles began earlier, and every block publishes its counts before it waits for other blocks. The
// last pass also stores the results, except results that need the whole segment.
#pragma once
#include <kernops/cuda/segments/digit_ranks.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ long long row_at(const SegmentRun& run, long long position) {
  return run.order ? run.order[position] : position;
}

template <class V, class Finish> struct DigitSort {
  using T = typename Sorted<V>::T;
  using Key = typename SortKey<T>::Key;
  using Item = typename LongItem<Key, Finish::placed>::Item;
  static constexpr int tile = digit_tile(sizeof(Item)), threads = digit_threads, VT = tile / threads,
                       passes = sizeof(Key);
  using Ranks = DigitRanks<threads, VT>;

  // Returns the counts of the digits of a segment. The function begins() replaces the count of each digit by the
  // position where the keys with this digit begin.
  static __device__ __forceinline__ unsigned* counts(const SortRun& job, int segment, int pass) {
    return job.digits.counts + ((long long)segment * passes + pass) * digit_count;
  }

  // Counts the digits. A digit has several counters for different lanes. With a single counter per digit, many lanes
  // would add to the same counter if keys have equal high digits.
  static __device__ __forceinline__ void count(const SortRun& job) {
    constexpr int copies = 32 / passes;
    __shared__ unsigned own[passes][digit_count][copies];
    unsigned* const all = &own[0][0][0];
    for (int n = threadIdx.x; n < passes * digit_count * copies; n += threads) all[n] = 0;
    __syncthreads();
    const int first = blockIdx.x * digit_tiles_counted, last = first + digit_tiles_counted;
    for (int n = first; n < last && n < job.digits.tile_count; ++n) {
      const DigitTile& from = job.digits.tiles[n];
      if (threadIdx.x < digit_count) job.digits.published[0][(long long)n * digit_count + threadIdx.x] = 0;
      const long long position = from.piece.first - job.run.first, place = from.piece.first - from.piece.begin;
      Key keys[VT];
      KERNOPS_EACH(k, VT) {
        const int i = k * threads + int(threadIdx.x), last_one = from.piece.count - 1;
        keys[k] = Finish::template key<V>(job, row_at(job.run, from.piece.first + (i < last_one ? i : last_one)));
      }
      KERNOPS_EACH(k, VT) {
        const int i = k * threads + int(threadIdx.x);
        if (i >= from.piece.count) continue;
        static_cast<Item*>(job.to)[position + i] = Item::of(keys[k], unsigned(place + i));
        KERNOPS_EACH(p, passes) {
          const unsigned d = unsigned(keys[k] >> digit_bits * p) & (digit_count - 1);
          atomicAdd(&own[p][d][lane_id() % copies], 1u);
        }
      }
      const int next = n + 1;
      if (next < last && next < job.digits.tile_count && job.digits.tiles[next].segment == from.segment) continue;
      __syncthreads();
      for (int b = threadIdx.x; b < passes * digit_count; b += threads) {
        unsigned sum = 0;
        KERNOPS_EACH(c, copies) sum += all[b * copies + c], all[b * copies + c] = 0;
        if (sum > 0) atomicAdd(counts(job, from.segment, 0) + b, sum);
      }
      __syncthreads();
    }
  }

  // Computes the position where each digit begins; one block for each pass of each segment, with one thread per digit.
  static __device__ __forceinline__ void begins(const SortRun& job) {
    __shared__ unsigned of_lanes[digit_count / 32];
    unsigned* const here = job.digits.counts + (long long)blockIdx.x * digit_count;
    const unsigned mine = here[threadIdx.x];
    unsigned below = sum_below(mine);
    if (lane_id() == 31) of_lanes[threadIdx.x / 32] = below + mine;
    __syncthreads();
    for (int n = 0; n < int(threadIdx.x) / 32; ++n) below += of_lanes[n];
    here[threadIdx.x] = below;
  }

  // A word is 0 until the tile publishes its count. The word then contains 1 plus the count of the tile. If the highest
  // bit is set, the word contains the count of the tile and all earlier tiles of the segment.
  static constexpr unsigned complete = 1u << 31;
  static __device__ __forceinline__ unsigned before(const volatile unsigned* tile, unsigned mine) {
    unsigned sum = 0;
    for (const volatile unsigned* from = tile;;) {
      from -= digit_count;
      unsigned word;
      while ((word = *from) == 0) continue;
      if (word & complete) {
        sum += word & ~complete;
        break;
      }
      sum += word - 1;
    }
    *const_cast<volatile unsigned*>(tile) = complete | (sum + mine);
    return sum;
  }

  static __device__ __forceinline__ void pass(const SortRun& job) {
    __shared__ Item items[tile];
    __shared__ typename Ranks::Memory memory;
    __shared__ int shifts[digit_count];
    const DigitTile from = job.digits.tiles[blockIdx.x];
    const SortPiece& piece = from.piece;
    const int pass = job.digits.pass, bit = digit_bits * pass, position = int(piece.first - job.run.first);
    const bool first = piece.first == piece.begin;
    volatile unsigned* const published =
        job.digits.published[pass % 2] + (long long)blockIdx.x * digit_count + threadIdx.x;
    const Item* const x = static_cast<const Item*>(job.from) + position;
    Item mine[VT];
    KERNOPS_EACH(k, VT) mine[k] = Ranks::place(k) < piece.count ? x[Ranks::place(k)] : Item::last();
    int ranks[VT], count = 0;
    const auto known = [&](int d, int with_padding) {
      count = with_padding - (d == digit_count - 1 ? tile - piece.count : 0);
      *published = first ? complete | unsigned(count) : unsigned(count) + 1;
      job.digits.published[1 - pass % 2][(long long)blockIdx.x * digit_count + d] = 0;
    };
    const auto begins = [&](int d, int below) { shifts[d] = int(counts(job, from.segment, pass)[d]) - below; };
    Ranks{memory}([&](int k) { return digit_of(mine[k], bit); }, ranks, known, begins);
    KERNOPS_EACH(k, VT) items[ranks[k]] = mine[k];
    if (!first && threadIdx.x < digit_count) shifts[threadIdx.x] += int(before(published, unsigned(count)));
    __syncthreads();
    KERNOPS_EACH(k, VT) {
      const int i = k * threads + int(threadIdx.x);
      if (i >= piece.count) continue;
      const Item item = items[i];
      const long long to = piece.begin + shifts[digit_of(item, bit)] + i;
      if (job.to)
        static_cast<Item*>(job.to)[to - job.run.first] = item;
      else
        Finish::template store<T>(job, piece, to, item);
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
