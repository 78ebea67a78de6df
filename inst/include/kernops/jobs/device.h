// The arguments of the kernels of a map-reduce: plain structs for host and device. A level is the set of values that
// are computed once (uniform), per row or per column; an item is one row or one column.
#pragma once
#include <kernops/jobs/blocks.h>

namespace kernops {

// Returns the distance between items of a level, as a count of numbers of `bytes` bytes each. The distance is a
// multiple of 16 bytes, except for shorter items.
KERNOPS_FN constexpr int padded(int entries, int bytes) {
  return entries * bytes <= 4 ? entries : entries * bytes <= 8 ? 8 / bytes : (entries * bytes + 15) / 16 * 16 / bytes;
}

// The source of `size` entries of a level: entry k of item n is data[k * entry + n * item].
struct DeviceSource {
  enum Kind { constant, given, doubles, floats, bfloat16, float16, index } kind;
  const void* data;
  // kind `index` has the value first + n + 1; entry k of kind `given` is given[first + k] of FillJob
  long long entry, item, first;
  double value;
  int offset, size;
};

// The job of the kernels that fill the levels of a map-reduce. Entry k of item n is out[n * stride + k]. Rows and
// columns may depend on uniform values; each block computes the uniform values again, if they are few.
struct FillJob {
  static constexpr int most_sources = 40, most_given = 64, most_own = 512;
  struct Level {
    int first_source, end_source;
    void* out;
    long long count;
  } levels[3];                // uniform, rows, columns
  unsigned row_blocks;        // number of blocks that fill rows; the other blocks of the grid fill columns
  const DeviceSource* table;  // used instead of `sources` if `sources` is too short
  DeviceSource sources[most_sources];
  double given[most_given];
};

static_assert(sizeof(FillJob) <= 4096, "it travels with the launch");

// Up to this number of splits, one thread joins the splits of a row. A block joins a larger number of splits.
constexpr int merged_by_one = 64;
// If the sums are long vectors, one block joins the splits of `merged_rows` rows and `merged_entries` entries, with one
// thread for each entry of a row.
constexpr int merged_rows = 32, merged_entries = 8;

// The job of a reduction of pairs. `rows` and `columns` are the addresses of item 0. Only the columns column_begin ..
// column_end - 1 are stored; item 0 of the columns may be missing. If few rows use the columns, the kernel computes the
// columns from `sources`, and does not read `columns`. If there are few columns, the kernel may compute the rows from
// `row_sources`, and does not read `rows`.
struct PairJob {
  static constexpr int most_sources = 8;
  const void *once, *rows, *columns;  // the levels that a FillJob has filled; `once` has the uniform values
  long long row_begin, row_end, column_begin, column_end;
  long long columns_per_split;  // number of columns of a split, which one block reduces
  int splits;                   // number of splits to reduce, or to merge
  int any_columns;              // true if the reduction has columns, on this device or on another device
  // the states of the splits, one split after another; null if the kernel writes results instead of states
  void* partials;
  long long partial_rows;  // number of states of each split
  // counters: among the blocks of the same rows, the block that finishes last merges the splits; null: a later launch
  // merges the splits
  int* arrivals;
  double* out;  // entry k of row n at out[k * out_entry + n * out_row]; null: merge into the first split
  long long out_entry, out_row;
  long long out_column;    // distance between stored values of neighbouring columns
  const RowBlock* blocks;  // the rows of each block of the grid; null if all pairs are reduced
  const Interval* intervals;
  int source_count;
  DeviceSource sources[most_sources];      // sources of the columns from column_begin on
  DeviceSource row_sources[most_sources];  // sources of the rows from row 0 on
};

}  // namespace kernops
