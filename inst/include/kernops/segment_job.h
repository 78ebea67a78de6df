// What the host hands to the kernels of segments (seg_reduce.cuh, segment_plan.cuh): plain structs, the same for both.
#pragma once

namespace kernops {

// Values in order, cut into tiles of equal size. A plan is one bit for each value, set where it ends a segment, and for
// each tile how many segments end before it, and where the one begins that is open there: in tile `opens` - 1, or before
// all tiles where that is 0. Positions count from the first value, rows from the first segment.
struct SegmentPlan {
  unsigned* ends;        // whole tiles of them
  int *limits, *opens;   // tiles + 1
  int count, tiles;
};

constexpr int spine_threads = 512;

struct SegmentJob {
  SegmentPlan plan;
  const void* x;           // and what else a source reads
  const void* weights;
  const void* order;       // gathered: value n is x[order[n]]
  const long long* shifts; // indirect: value n of row r is x[n + shifts[r]]
  long long x_row, x_column, v_row;
  const long long* offsets;  // row r has the values offsets[r] .. offsets[r + 1] - 1, less `first`
  const long long* rows;     // where row r of the plan goes; null: to row r
  long long first;           // what value 0 of the plan is called
  void *out;
  long long out_column, out_row;
  void *carries, *heads;     // a state for each tile: of the segment that it leaves open, of the one that it closes first
  const void* incoming;      // the state of the segment that is open before the first tile, or null
  void* outgoing;            // of the one that is open after the last; may be null
  int columns;
};

}  // namespace kernops
