// The arguments of the kernels that put the values of segments in order (cuda/segments/sort.cuh), and of what they
// make of them.
#pragma once
#include <kernops/jobs/device_segments.h>

namespace kernops {

// Positions that one block puts in order: `segments` whole ones from number `begin` on, or, where `end` is not 0, a
// part of the one from `begin` to `end`.
struct SortPiece {
  long long first, begin, end;
  int count, segments, longest;
};

// How results follow from values in order.
struct OrderHow {
  int ties, keep_missing;  // of ranks, as SortRequest has them
  int top;                 // how many values of each segment
  const double* probs;     // of quantiles
  int outputs, type;       // how many results a segment has; of quantiles
  long long nth;           // from 1, or from -1 for the largest
  int skip_missing;
  double empty;             // the result of a segment without values
  long long outputs_apart;  // numbers from one result of a segment to the next
};

struct SortRun {
  SegmentRun run;  // of one column
  const SortPiece* pieces;
  const long long* long_segments;  // their numbers
  const void* from;                // keys of positions, of which runs of `width` are in order
  void* to;                        // likewise, or null: results
  long long width;
  int decreasing, missing_last;
  OrderHow how;
};

constexpr int sort_threads = 256, sort_bytes = 32768;  // of shared memory for the items of a piece

// So many values has a piece at most; an item is a key of `bytes`, the number of its segment, and its place.
constexpr int sort_capacity(int bytes) { return sort_bytes / (2 * bytes); }

// So many values has a segment at most that lanes of a warp sort.
constexpr int short_segment = 512;

}  // namespace kernops
