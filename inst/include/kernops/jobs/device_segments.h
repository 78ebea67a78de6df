// The arguments of the kernels of segments (cuda/segments/reduce.cuh, cuda/segments/plan.cuh): plain structs, shared by
// host and device.
#pragma once

namespace kernops {

// Values in order, cut into tiles of equal size. A plan has one bit for each value, set if the value ends a segment;
// for each tile, the number of segments that end before it, and the beginning of the segment that is open there, in
// tile `opens` - 1; 0 means tile 0 and everything before it. Positions count from the first value, rows from the first
// segment.
struct SegmentPlan {
  unsigned* ends;       // bits of whole tiles
  int *limits, *opens;  // tiles + 1
  int count, tiles;
};

constexpr int segment_tile = 4096;  // values
constexpr int spine_threads = 512, most_state_bytes = 64;
constexpr int tile_group = 32;  // tiles whose carries are joined one after another
constexpr int most_carried_bytes = 2 * most_state_bytes + 16;

struct OffsetsJob {
  SegmentPlan plan;
  const long long* offsets;  // segments + 1 ascending, distinct numbers
  long long first;           // the number of the plan's first value
  int segments;              // segments that end among the values of the plan, from offsets[0] on
};

// Keys, with equal keys adjacent: each run of them is a segment.
struct KeysJob {
  SegmentPlan plan;
  const void* keys;
  long long* offsets;      // the beginning of each run, and the end of the last one
  long long first, begin;  // the number of the plan's first key; the beginning of the run that is open there
  int goes_on;             // whether a key comes after the plan's last one
};

// Writes the keys and lengths of runs: the key of planned run r to firsts[row + r], its length to lengths[row + r].
struct RunsJob {
  const long long* offsets;
  int count;
  const void *keys, *by_run;  // one per key, or one per run
  void* firsts;
  double* lengths;
  long long row;
};

struct SegmentRun {
  SegmentPlan plan;
  long long first;          // value n of the plan is number first + n of all values; in column c it
  const void* x;            // is x[at * x_row + c * x_column], where `at` is that number m,
  const unsigned* order;    // or order[m],
  const long long* shifts;  // or m + shifts[segment].
  long long x_row, x_column;
  const void* partner;  // The value may be joined with partner[by * partner_row + c * partner_column],
  const int* through;   // where `by` is `at`, or through[at] - 1,
  long long partner_row, partner_column;
  const double* given[3];  // and with numbers of the segment, given[k][row + c * given_column].
  long long given_column;
  const long long* offsets;  // the beginning of segment r of the plan
  const long long* rows;     // the row of the segment's result; without rows, r
  void* out;                 // the result of row r and column c is out[c * out_column + r]; of a map, the result
  long long out_column;      // of a value at out[c * out_column + at], or m
  void* carries;             // the state of the segment that each tile leaves open,
  void* heads;               // the state of the segment that each tile closes first,
  int phase;                 // the number of earlier tiles in the group of the first tile,
  const void* incoming;      // the carry of earlier tiles, if a segment is open there,
  void* outgoing;            // and the carry after the last tile; may be null
};

constexpr int word_group = 32;  // number of tiles whose counts of ends are summed by one block

// Runs of keys that are found and reduced in a single pass.
struct KeyedRun {
  SegmentRun run;  // whether the plan is stored as well
  const void* keys;
  void* firsts;                // the key of each run
  int* ends;                   // number of runs that end in each tile, plus 1; 0 until it is known
  unsigned long long* groups;  // for tiles: number of tiles that have published, times 2^32, plus their number of ends
  int* through;                // number of ends in a group and in all earlier groups, plus 1; 0 until it is known
};

// Counts of results, row by row and column by column.
struct ResultsJob {
  double* out;
  const double *a, *b;
  const long long* rows;
  long long count, columns, out_column;
  double value;
  int* found;
};

}  // namespace kernops
