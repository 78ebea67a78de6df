// Which pairs there are, as blocks of rows with their intervals of lanes.
#include <algorithm>

#include "backend.h"

namespace kernops {

Blocks all_pairs(Count rows, Count lanes) { return {{{0, rows, 0, 1, lanes}}, {{0, lanes, 0}}}; }

Blocks clip(const Blocks& blocks, Count row_begin, Count row_end) {
  Blocks clipped{{}, blocks.lanes};
  for (RowBlock block : blocks.rows) {
    block.begin = std::max(block.begin, row_begin) - row_begin;
    block.end = std::min(block.end, row_end) - row_begin;
    if (block.begin < block.end) clipped.rows.push_back(block);
  }
  return clipped;
}

}  // namespace kernops
