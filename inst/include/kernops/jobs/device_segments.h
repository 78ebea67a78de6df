// The arguments of the kernels of segments (cuda/segments/reduce.cuh, cuda/segments/plan.cuh): plain structs, shared by
// host and device.
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
constexpr int tile_group = 32;  // whose carries are joined one after another
constexpr int most_carried_bytes = 2 * most_state_bytes + 16;

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
  long long* offsets;      // where each run begins, and where the last one ends
  long long first, begin;  // the number of the plan's first key; where the run begins that is open there
  int goes_on;             // whether a key comes after the plan's last one
};

// Writes the keys and lengths of runs: the key of planned run r to firsts[row + r], its length to lengths[row + r].
struct RunsJob {
  const long long* offsets;
  int count;
  const void *keys, *by_run;  // all of them, or one a run
  void* firsts;
  double* lengths;
  long long row;
};

struct SegmentRun {
  SegmentPlan plan;
  long long first;          // value n of the plan is number first + n of all; in column c it
  const void* x;            // is x[at * x_row + c * x_column], where `at` is that number m,
  const unsigned* order;    // or order[m],
  const long long* shifts;  // or m + shifts[its segment].
  long long x_row, x_column;
  const void* partner;  // It may be joined with partner[by * partner_row + c * partner_column],
  const int* through;   // where `by` is `at`, or through[at] - 1,
  long long partner_row, partner_column;
  const double* given[3];  // and with numbers of its segment, given[k][row + c * given_column].
  long long given_column;
  const long long* offsets;  // where segment r of the plan begins
  const long long* rows;     // its row of the result; without them, r
  void* out;                 // result of row r and column c at out[c * out_column + r]; of a map, that
  long long out_column;      // of a value at out[c * out_column + at], or m
  void* carries;             // the state of the segment that each tile leaves open,
  void* heads;               // of the one that each tile closes first,
  int phase;                 // how many tiles before the first one are in its group,
  const void* incoming;      // what those before it carry, if a segment is open there,
  void* outgoing;            // and what is carried on after the last; may be null
};

constexpr int word_group = 32;  // tiles whose numbers of ends are added up where they arrive

// Runs of keys that are found and reduced in one pass.
struct KeyedRun {
  SegmentRun run;  // the plan is made, too
  const void* keys;
  void* firsts;                // the key of each run
  int* ends;                   // how many runs end in each tile, plus 1; 0 until that is known
  unsigned long long* groups;  // of tiles: how many know it, times 2^32, plus how many end in those
  int* through;                // how many end in a group and all before it, plus 1; 0 until that is known
};

// Numbers of results, row by row and column by column.
struct ResultsJob {
  double* out;
  const double *a, *b;
  const long long* rows;
  long long count, columns, out_column;
  double value;
  int* found;
};

}  // namespace kernops
