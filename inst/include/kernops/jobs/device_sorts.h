// The arguments of the kernels that sort the values of segments (cuda/segments/sort.cuh), and of the statistics of
// sorted values.
#pragma once
#include <kernops/jobs/device_segments.h>

namespace kernops {

// A piece of the values that one block sorts: either `segments` whole segments from segment number `begin` on or, if
// `end` is not 0, a part of the segment at positions `begin` to `end`.
struct SortPiece {
  long long first, begin, end;
  int count, segments, longest;
};

// A tile of a long segment that is sorted by digits. `piece.begin` and `piece.end` are the begin and the end of the
// segment. `segment` is the number of the segment among the segments that are sorted by digits.
struct DigitTile {
  SortPiece piece;
  int segment;
};

// The arguments of passes over the digits of keys (cuda/segments/sort_digits.cuh).
struct DigitPass {
  const DigitTile* tiles;
  int tile_count, pass;
  unsigned* counts;  // for each segment and pass: the count of each digit, later the first position of each digit
  // for each tile: one word per digit, which later tiles read. One array belongs to this pass, and the other array to
  // the next pass.
  unsigned* published[2];
};

// The options of results that are computed from sorted values.
struct OrderHow {
  int ties, keep_missing;  // options of ranks, as in SortRequest
  int top;                 // number of sorted values to return for each segment
  const double* probs;     // the probabilities of quantiles
  int outputs, type;       // number of results per segment; type of quantiles
  long long nth;           // rank of the value to return: 1 for the smallest, -1 for the largest
  int skip_missing;
  double empty;             // the result of a segment without values
  long long outputs_apart;  // distance between successive results of a segment
  const double* incoming;   // for gradients: the gradient of output k of row r is at [k * incoming_apart + r]
  long long incoming_apart;
};

struct SortRun {
  SegmentRun run;  // the values of one column
  const SortPiece* pieces;
  const long long* long_segments;  // the numbers of long segments
  unsigned* finished;              // for each long segment: number of blocks that have stored a partial result
  void* partials;                  // the partial results: `partial_bytes` for each block
  const void* from;                // items (keys and positions) in sorted runs of length `width`
  void* to;                        // receives the merged runs; null if the pass stores results
  long long width;
  int decreasing, missing_last;
  DigitPass digits;
  OrderHow how;
};

constexpr int partial_bytes = 16;
constexpr int sort_threads = 256, sort_bytes = 32768;  // bytes of shared memory for the items of a piece

// Returns the maximum number of values of a piece. An item consists of a key of `bytes` bytes, a position, and the
// number of a segment.
constexpr int sort_capacity(int bytes) { return sort_bytes / (2 * bytes); }

// The maximum length of a segment that the lanes of one warp sort.
constexpr int short_segment = 512;

constexpr int digit_bits = 8, digit_count = 1 << digit_bits, digit_threads = 512;
constexpr int digit_tiles_counted = 8;  // number of digit tiles that one block counts

constexpr int digit_tile(int item_bytes) { return sort_bytes / item_bytes; }

// Returns the maximum length of segments that are sorted by merging. Longer segments are sorted by digits, which takes
// less time.
constexpr long long longest_merged(int key_bytes) {
  return (long long)sort_capacity(key_bytes) * (key_bytes == 4 ? 8 : 64);
}

}  // namespace kernops
