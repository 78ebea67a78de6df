// The arguments of the kernels of moving windows (cuda/segments/roll.cuh, cuda/segments/roll_windows.cuh).
#pragma once
#include <kernops/jobs/device_sorts.h>

namespace kernops {

// Value n of the plan and column c is x[c * x_column + n]. Its window begins `left` values before it and ends `right`
// values after it. Results go to run.out, as those of a scan.
struct RollRun {
  SegmentRun run;
  const void* x;
  long long x_column, left, right;
  const int *before, *after;  // the same of each value; null: left and right
  int columns, partial;       // whether a window that extends beyond its segment is cut
  double nothing;             // the result of an empty window
  double incomplete;          // the result of a window that extends beyond its segment, if it is not cut

  // roll.cuh: results of the windows of `width` values that begin at each value, in steps of `step` values.
  int width, step, steps;           // number of steps of a block
  int chunks, rest;                 // width = (1 + chunks) VT + rest, with rest < VT
  int places, group_bits;           // chunks in the ring of states; log2 of the chunks of a group
  int results_bytes, states_bytes;  // bytes of shared memory

  // roll_windows.cuh: the windows of values first .. first + count - 1, which contain the values from `base` on.
  int first, count, base, values;
  int clipped_only;  // whether other windows stay unchanged
  void* nodes;       // nodes of each column; level l has one node for roll_leaf << l values
  int levels, level;
  long long nodes_column;

  int* found;  // of kernops_roll_find_gap
};

// Quantiles of the windows of one column (cuda/segments/roll_quantiles.cuh).
struct QuantileRun {
  RollRun roll;
  SortRun keys;              // the order of the values
  const void* from;          // keys in the order of a level
  void* to;                  // and of the next one
  unsigned *words, *before;  // for each level, a bit for each key whose digit is 0; their number before each word
  int *blocks, *zeros;       // the number of such bits of each block, and before it; the number of all for each level
  int* gaps;                 // whether a value is missing
  int words_count, block_count, level;
  int type, skip_missing;
  double prob;
};
constexpr int quantile_threads = 512;

constexpr int roll_leaf = 8, most_roll_threads = 256;
constexpr int roll_warp_values = 128;  // of roll_windows.cuh

}  // namespace kernops
