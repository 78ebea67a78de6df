// What the host hands to the kernels of segments (seg_reduce.cuh, seg_softmax.cuh, seg_plan.cuh): plain
// structs, the same for both.
#pragma once

namespace kernops {

// Values in order, cut into tiles of equal size. A plan is one bit for each value, set where it ends a
// segment, and for each tile how many segments end before it, and where the one begins that is open there: in
// tile `opens` - 1; 0 stands for tile 0 and for what comes before. Positions count from the first value, rows
// from the first segment.
struct SegmentPlan {
  unsigned* ends;       // whole tiles of them
  int *limits, *opens;  // tiles + 1
  int count, tiles;
};

constexpr int segment_tile = 4096;  // values
constexpr int spine_threads = 512, most_state_bytes = 64;

struct OffsetsJob {
  SegmentPlan plan;
  const long long* offsets;  // segments + 1, ascending, none equal
  long long first;           // the number of the plan's first value
  int segments;              // that end among the values of the plan, from offsets[0] on
};

// Keys, equal ones side by side: a run of them is a segment.
struct KeysJob {
  SegmentPlan plan;
  const void* keys;
  void* loose;         // the keys of the runs that end in a tile, from the tile's first place on
  void* firsts;        // the key of each run
  long long* offsets;  // where each run begins, and where the last one ends; may be null
};

struct SegmentRun {
  SegmentPlan plan;
  long long first;          // value n of the plan is number first + n of all; in column c it
  const void* x;            // is x[at * x_row + c * x_column], where `at` is that number m,
  const unsigned* order;    // or order[m],
  const long long* shifts;  // or m + shifts[its segment]; times
  const double* weights;    // weights[at * weights_row], if it has one, times
  long long x_row, x_column, weights_row;
  const long long* offsets;  // where segment r of the plan begins
  void* out;                 // of segment r and column c at out[c * out_column + r]
  long long out_column;
  void* carries;             // the state of the segment that each tile leaves open,
  void* heads;               // of the one that each tile closes first,
  const void* incoming;      // of the one that is open before the first tile, if there is one,
  void* outgoing;            // of the one that is open after the last; may be null
  double* softmax;           // the second pass of a softmax writes to softmax[at + c * softmax_column]
  long long softmax_column;
};

}  // namespace kernops
