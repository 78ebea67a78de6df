// Assigns segments to the blocks that sort them, on the host, once for a plan.
#pragma once
#include <kernops/jobs/device_sorts.h>

#include <algorithm>
#include <vector>

namespace kernops {

// Pieces of short segments, of longer segments that fit a block, and parts of segments that do not, with their numbers.
struct PieceLists {
  std::vector<SortPiece> of_short, of_medium, parts;
  std::vector<long long> long_segments;

  // Segment s has the positions offsets[s] .. offsets[s + 1] - 1.
  template <class Offsets> PieceLists(const Offsets& offsets, int capacity) {
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const long long begin = offsets[s], end = offsets[s + 1], length = end - begin;
      if (length <= capacity) {
        append(length <= short_segment ? of_short : of_medium, (long long)s, begin, int(length), capacity);
        continue;
      }
      long_segments.push_back((long long)s);
      for (long long first = begin; first < end; first += capacity)
        parts.push_back({first, begin, end, int(std::min<long long>(capacity, end - first)), 0, 0});
    }
  }

 private:
  // Adds to the last piece, or begins a new one.
  static void append(std::vector<SortPiece>& list, long long segment, long long begin, int length, int capacity) {
    SortPiece* const last = list.empty() ? nullptr : &list.back();
    if (!last || last->first + last->count != begin || last->count + length > capacity)
      return list.push_back({begin, segment, 0, length, 1, length});
    last->count += length, ++last->segments, last->longest = std::max(last->longest, length);
  }
};

}  // namespace kernops
