// Assigns segments to the blocks that sort them. The host computes this assignment once for a plan.
#pragma once
#include <kernops/jobs/device_sorts.h>

#include <algorithm>
#include <vector>

namespace kernops {

// `of_short` has pieces (consecutive segments) of short segments, and `of_medium` has pieces of longer segments that
// still fit a block. `parts` has parts of segments that exceed a block, and `tiles` has tiles of segments that are
// sorted by digits. `long_segments` lists the segments in `parts` and `tiles`.
struct PieceLists {
  std::vector<SortPiece> of_short, of_medium, parts;
  std::vector<DigitTile> tiles;
  std::vector<long long> long_segments;
  // The maximum length of a segment in `parts`, and of a segment in `parts` or `tiles`.
  long long longest = 0, longest_of_all = 0;
  int by_digits = 0;  // number of segments in `tiles`

  // Segment s has the positions offsets[s] .. offsets[s + 1] - 1.
  template <class Offsets> PieceLists(const Offsets& offsets, int key_bytes, int item_bytes) {
    const int capacity = sort_capacity(key_bytes), tile = digit_tile(item_bytes);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const long long begin = offsets[s], end = offsets[s + 1], length = end - begin;
      if (length <= capacity) {
        append(length <= short_segment ? of_short : of_medium, (long long)s, begin, int(length), capacity);
        continue;
      }
      long_segments.push_back((long long)s);
      longest_of_all = std::max(longest_of_all, length);
      if (length > longest_merged(key_bytes)) {
        cut(begin, end, tile, [&](const SortPiece& piece) { tiles.push_back({piece, by_digits}); });
        ++by_digits;
      } else {
        cut(begin, end, capacity, [&](const SortPiece& piece) { parts.push_back(piece); });
        longest = std::max(longest, length);
      }
    }
  }

 private:
  template <class Add> static void cut(long long begin, long long end, int size, Add add) {
    for (long long first = begin; first < end; first += size)
      add({first, begin, end, int(std::min<long long>(size, end - first)), 0, 0});
  }

  // Adds a segment to the last piece, or begins a new piece.
  static void append(std::vector<SortPiece>& list, long long segment, long long begin, int length, int capacity) {
    SortPiece* const last = list.empty() ? nullptr : &list.back();
    if (!last || last->first + last->count != begin || last->count + length > capacity)
      return list.push_back({begin, segment, 0, length, 1, length});
    last->count += length, ++last->segments, last->longest = std::max(last->longest, length);
  }
};

}  // namespace kernops
