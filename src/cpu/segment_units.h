// Divides segments into units of work with equal numbers of values, whatever the lengths of the segments. There are two
// kinds of units. A tile has the short segments that begin in a range of positions. A block has up to `segment_block`
// successive values of a long segment, a segment with more values than that.
#pragma once
#include <kernops/jobs/segments.h>

#include <algorithm>

#include "segments/segments.h"

namespace kernops {
namespace cpu {

class SegmentUnits {
 public:
  SegmentUnits(const Segments& segments, Count tile) : segments_(segments), tile_(tile) {
    for (const Count s : segments.large) before_.push_back(before_.back() + ceil_div(length(s), segment_block));
  }

  Count tiles() const { return ceil_div(segments_.covered, tile_); }
  Count blocks() const { return before_.back(); }
  Count widest() const { return tile_ + segment_block; }

  // Calls reduce(first, last) for each sequence of successive short segments first .. last - 1 of a tile. A long
  // segment ends a sequence.
  template <class F> void each_stretch(Count tile, F reduce) const {
    const std::vector<Count>& large = segments_.large;
    const Count begin = segments_.first + tile * tile_, last = first_from(begin + tile_);
    for (Count s = first_from(begin); s < last; ++s) {
      const auto next = std::lower_bound(large.begin(), large.end(), s);
      const Count end = next == large.end() ? last : std::min(*next, last);
      if (s < end) reduce(s, end);
      s = end;
    }
  }

  // The index of the long segment that contains a block, and the index of the block within this segment.
  Count owner(Count block) const {
    return std::upper_bound(before_.begin(), before_.end(), block) - before_.begin() - 1;
  }
  Count number(Count block) const { return block - before_[owner(block)]; }
  Count first_block(Count owner) const { return before_[owner]; }
  Count block_count(Count owner) const { return before_[owner + 1] - before_[owner]; }

 private:
  Count length(Count s) const { return segments_.offsets()[s + 1] - segments_.offsets()[s]; }
  Count first_from(Count position) const {
    const std::vector<Count>& offsets = segments_.offsets();
    return std::lower_bound(offsets.begin(), offsets.end() - 1, position) - offsets.begin();
  }

  const Segments& segments_;
  const Count tile_;
  std::vector<Count> before_{0};  // number of blocks before each long segment; last element: number of all blocks
};

}  // namespace cpu
}  // namespace kernops
