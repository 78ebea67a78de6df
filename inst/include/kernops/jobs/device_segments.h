// The arguments of the kernels of segments (cuda/segments/reduce.cuh, cuda/segments/plan.cuh): plain structs for host
// and device.
#pragma once

namespace kernops {

// A plan describes the ends of segments. The values are divided into tiles of equal size, and a block reduces one tile.
// A plan has one bit for each value, which is set if the value ends a segment, and two numbers for each tile. `limits`
// is the number of segments that end before the tile. Carry n is the state of those values of tile n - 1 that follow
// the last end of a segment in this tile, and carry 0 is the state before tile 0. `opens` is the index of the first
// carry of the segment that is open at the beginning of the tile. Positions are counted from the first value of the
// plan, and rows from the first segment of the plan.
struct SegmentPlan {
  unsigned* ends;       // one bit per value, set if a segment ends with the value; padded to whole tiles
  int *limits, *opens;  // one number per tile, and one number for the end of the last tile
  int count, tiles;
};

constexpr int segment_tile = 4096;  // number of values of a tile
constexpr int spine_threads = 512, most_state_bytes = 64;
constexpr int tile_group = 32;  // number of tiles whose carries are joined one after another
constexpr int most_carried_bytes = 2 * most_state_bytes + 16;

struct OffsetsJob {
  SegmentPlan plan;
  const long long* offsets;  // positions at which segments begin, ascending, and the end of the last segment
  long long first;           // the number of the plan's first value
  int segments;              // number of segments that end among the values of the plan; the first begins at offsets[0]
};

// A plan of segments that are runs of equal adjacent keys.
struct KeysJob {
  SegmentPlan plan;
  const void* keys;
  long long* offsets;      // the begin of each run, and the end of the last run
  long long first, begin;  // number of the plan's first key; begin of the run that contains this key
  int goes_on;             // true if another key follows the last key of the plan
};

// The job that describes runs: the key of run r is written to firsts[row + r], and its length to lengths[row + r].
struct RunsJob {
  const long long* offsets;
  int count;
  const void *keys, *by_run;  // keys: one key per value; by_run: one key per run
  void* firsts;
  double* lengths;
  long long row;
};

// The job of a reduction, a scan or a map of segments. Value n of the plan is value m = first + n of all values. In
// column c, this value is x[at * x_row + c * x_column]. The row `at` of x is order[m] if `order` is set,
// m + shifts[segment] if `shifts` is set, and otherwise m. A term may also read the partner of the value, and numbers
// that belong to the segment of the value. The partner is partner[by * partner_row + c * partner_column], where `by` is
// through[at] - 1 if `through` is set, and otherwise `at`. Number k of segment `row` is given[k][row + c *
// given_column].
struct SegmentRun {
  SegmentPlan plan;
  long long first;
  const void* x;
  const unsigned* order;
  const long long* shifts;
  long long x_row, x_column;
  const void* partner;
  const int* through;
  long long partner_row, partner_column;
  const double* given[3];
  long long given_column;
  const long long* offsets;  // the begin of each segment of the plan
  const long long* rows;     // the row of the result of each segment; null: the number of the segment
  // The result of row r and column c is out[c * out_column + r]. A map writes a result for each value: in the row of
  // the value, at out[c * out_column + at], or in the order of the segments, at out[c * out_column + m].
  void* out;
  long long out_column;
  void* carries;         // for each tile: the state of the segment that is open at the end of the tile
  void* heads;           // for each tile: the state of the first segment that ends in the tile
  int phase;             // number of earlier tiles in the group of the first tile
  const void* incoming;  // the carry of earlier batches, if a segment is open at the first tile; null if not
  void* outgoing;        // receives the carry after the last tile; may be null
};

constexpr int word_group = 32;  // number of tiles of a group; KeyedRun::groups has one sum for each group

// The job that finds and reduces runs of equal keys in a single pass.
struct KeyedRun {
  SegmentRun run;  // the kernels write the plan to the memory of run.plan
  const void* keys;
  void* firsts;  // the key of each run
  int* ends;     // number of runs that end in each tile, plus 1; 0 until the tile publishes its number
  // for each group of tiles: the upper 32 bits count the tiles that have published their entry of `ends`; the lower 32
  // bits have the sum of the ends in these tiles
  unsigned long long* groups;
  int* through;  // number of ends in a group and all earlier groups, plus 1; 0 until published
};

// The job of an operation on the results of `count` rows and `columns` columns. The operands a and b have the same
// layout as the results.
struct ResultsJob {
  double* out;
  const double *a, *b;
  const long long* rows;
  long long count, columns, out_column;
  double value;
  int* found;
};

}  // namespace kernops
