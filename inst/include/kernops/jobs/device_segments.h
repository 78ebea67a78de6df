// The arguments of the kernels of segments (cuda/segments/reduce.cuh, cuda/segments/plan.cuh): plain structs, shared by
// host and device.
#pragma once

namespace kernops {

// Values in order, cut into tiles of equal size. A plan has one bit for each value, which is set if the value ends a
// segment, and two numbers for each tile: `limits` is the number of segments that end before the tile; `opens` is the
// number of the first carry of the segment that is open where the tile begins. Carry n is the carry of tile n - 1, and
// carry 0 is the carry of everything before tile 0. Positions are counted from the first value, and rows from the first
// segment.
struct SegmentPlan {
  unsigned* ends;       // one bit per value, for whole tiles
  int *limits, *opens;  // one number per tile, and one for the end
  int count, tiles;
};

constexpr int segment_tile = 4096;  // number of values
constexpr int spine_threads = 512, most_state_bytes = 64;
constexpr int tile_group = 32;  // number of tiles whose carries are joined one after another
constexpr int most_carried_bytes = 2 * most_state_bytes + 16;

struct OffsetsJob {
  SegmentPlan plan;
  const long long* offsets;  // segments + 1 distinct numbers in ascending order
  long long first;           // the number of the plan's first value
  int segments;              // number of segments that end among the values of the plan, from offsets[0] on
};

// Keys, in which each run of equal adjacent keys is a segment.
struct KeysJob {
  SegmentPlan plan;
  const void* keys;
  long long* offsets;      // the beginning of each run, and the end of the last one
  long long first, begin;  // number of the plan's first key; begin of the run that is open there
  int goes_on;             // true if another key follows the last key of the plan
};

// Writes the key of planned run r to firsts[row + r], and its length to lengths[row + r].
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
  long long first;          // value n of the plan is value m = first + n of all values; in column c, the value
  const void* x;            // is x[at * x_row + c * x_column], where `at` is m,
  const unsigned* order;    // order[m],
  const long long* shifts;  // or m + shifts[segment].
  long long x_row, x_column;
  const void* partner;  // The value may be joined with partner[by * partner_row + c * partner_column],
  const int* through;   // where `by` is `at`, or through[at] - 1,
  long long partner_row, partner_column;
  const double* given[3];  // and with numbers of the segment, given[k][row + c * given_column].
  long long given_column;
  const long long* offsets;  // the begin of segment r of the plan
  const long long* rows;     // the row of the result of a segment; null: r
  void* out;                 // out[c * out_column + r] is the result of row r and column c; a map writes
  long long out_column;      // out[c * out_column + at], or out[c * out_column + m], for each value.
  void* carries;             // the state of the segment that each tile leaves open,
  void* heads;               // the state of the segment that each tile closes first,
  int phase;                 // number of earlier tiles in the group of the first tile,
  const void* incoming;      // the carry of earlier tiles, if a segment is open at the first tile,
  void* outgoing;            // and the carry after the last tile; may be null
};

constexpr int word_group = 32;  // number of tiles of a group, whose counts of ends are added up

// Runs of equal keys that are found and reduced in a single pass.
struct KeyedRun {
  SegmentRun run;  // with memory for a plan if the plan is to be stored as well
  const void* keys;
  void* firsts;  // the key of each run
  int* ends;     // number of runs that end in each tile, plus 1; 0 until it is published
  // for each group of tiles: the number of tiles that have published, times 2^32, plus the number of ends in these
  // tiles
  unsigned long long* groups;
  int* through;  // number of ends in a group and all earlier groups, plus 1; 0 until it is published
};

// The results of `count` rows and `columns` columns. Arguments a and b have the same layout as the results.
struct ResultsJob {
  double* out;
  const double *a, *b;
  const long long* rows;
  long long count, columns, out_column;
  double value;
  int* found;
};

}  // namespace kernops
