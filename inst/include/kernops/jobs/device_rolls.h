// The arguments of the kernels for moving windows (cuda/segments/roll.cuh, cuda/segments/roll_windows.cuh).
#pragma once
#include <kernops/jobs/device_sorts.h>

namespace kernops {

// Value n of the plan and column c is x[c * x_column + n]. The window of a value begins `left` values before the value
// and ends `right` values after it. Results are written to run.out, like the results of a scan.
struct RollRun {
  SegmentRun run;
  const void* x;
  long long x_column, left, right;
  const int *before, *after;  // `left` and `right` of each value; null if all windows have the same length
  int columns, partial;       // partial: true if a window that extends beyond its segment is shortened
  double nothing;             // the result of an empty window
  double incomplete;          // if `partial` is false: the result of a window that extends beyond its segment

  // for roll.cuh, where all windows have `width` values, and a block advances in steps of `step` windows
  int width, step, steps;  // steps: number of steps of a block
  int chunks, rest;        // width = (1 + chunks) VT + rest with rest < VT; a chunk is the VT values of one thread
  int places, group_bits;  // number of chunks in the ring of states; log2 of the chunks per group
  int results_bytes, states_bytes;  // bytes of shared memory

  // for roll_windows.cuh: the windows of the values first .. first + count - 1. These windows contain only values from
  // `base` on.
  int first, count, base, values;
  int clipped_only;  // true to compute only those windows that extend beyond their segment
  void* nodes;       // the tree of each column; a node of level l is the state of roll_leaf << l values
  int levels, level;
  long long nodes_column;

  int* found;  // result of kernops_roll_find_gap
};

// The quantiles of the windows of one column (cuda/segments/roll_quantiles.cuh).
struct QuantileRun {
  RollRun roll;
  SortRun keys;      // converts values to keys, which have the order of the values
  const void* from;  // keys in the order of a level of the wavelet matrix
  void* to;          // receives the keys in the order of the next level
  // `words`: for each level, one bit for each key, which is set if the digit (one bit) of the key at this level is 0.
  // `before`: for each word of bits, the number of set bits in the earlier words.
  unsigned *words, *before;
  // `blocks`: for each block, the number of set bits, which a later kernel replaces by the number of set bits in all
  // earlier blocks. `zeros`: for each level, the number of set bits.
  int *blocks, *zeros;
  int* gaps;  // becomes nonzero if a value is missing
  int words_count, block_count, level;
  int type, skip_missing;
  double prob;
};
constexpr int quantile_threads = 512;

constexpr int roll_leaf = 8, most_roll_threads = 256;
constexpr int roll_warp_values = 128;  // number of values per warp in roll_windows.cuh

}  // namespace kernops
