// The arguments of the kernels that sort segments (cuda/segments/sort.cuh).
#pragma once
#include <kernops/jobs/device_segments.h>

namespace kernops {

// Positions that one block puts in order: whole segments, or a part of the one from `begin` to `end`.
struct SortPiece {
  long long first, begin, end;
  int count;
};

struct SortRun {
  SegmentRun run;  // of one column
  const SortPiece* pieces;
  const void* from;  // keys of positions, of which runs of `width` are in order
  void* to;          // likewise, or null: results
  long long width;
  int decreasing, missing_last;
};

constexpr int sort_threads = 256, sort_bytes = 32768;  // of shared memory for the items of a piece

// So many values has a piece at most; an item is a key of `bytes` and the number of its segment.
constexpr int sort_capacity(int bytes) { return sort_bytes / (2 * bytes); }

}  // namespace kernops
