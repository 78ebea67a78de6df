// The pairs to reduce: blocks of rows, each with its intervals of columns.
#include <algorithm>

#include "run/data.h"

namespace kernops {

Count Blocks::pair_count() const {
  Count pairs = 0;
  for (const RowBlock& block : rows) pairs += (block.end - block.begin) * block.columns;
  return pairs;
}

Blocks all_pairs(Count rows, Count columns) { return {{{0, rows, 0, 1, columns}}, {{0, columns, 0}}}; }

Blocks clip(const Blocks& blocks, Count row_begin, Count row_end, Count column_begin, Count column_end) {
  Blocks clipped;
  for (const RowBlock& block : blocks.rows) {
    if (block.begin >= row_end || block.end <= row_begin) continue;
    RowBlock some{std::max(block.begin, row_begin) - row_begin, std::min(block.end, row_end) - row_begin,
                  Count(clipped.columns.size()), 0, 0};
    for (Count n = block.first; n < block.last; ++n) {
      const Count begin = std::max(blocks.columns[n].begin, column_begin),
                  end = std::min(blocks.columns[n].end, column_end);
      if (begin >= end) continue;
      clipped.columns.push_back({begin, end, some.columns});
      some.columns += end - begin;
    }
    some.last = Count(clipped.columns.size());
    clipped.rows.push_back(some);
  }
  return clipped;
}

Blocks cut(const Blocks& blocks, Count most_rows) {
  Blocks pieces{{}, blocks.columns};
  for (RowBlock piece : blocks.rows)
    for (const Count end = piece.end; piece.begin < end; piece.begin = piece.end) {
      piece.end = std::min(piece.begin + most_rows, end);
      pieces.rows.push_back(piece);
    }
  return pieces;
}

}  // namespace kernops
