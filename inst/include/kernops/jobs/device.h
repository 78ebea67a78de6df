// The arguments of the kernels of a map-reduce: plain structs, shared by host and device.
#pragma once
#include <kernops/jobs/blocks.h>

namespace kernops {

// The distance between items of a level, in numbers of `bytes` bytes: a multiple of 16 bytes unless an item is shorter.
KERNOPS_FN constexpr int padded(int entries, int bytes) {
  return entries * bytes <= 4 ? entries : entries * bytes <= 8 ? 8 / bytes : (entries * bytes + 15) / 16 * 16 / bytes;
}

// The source of `size` entries of a level: entry k of item n is data[k * entry + n * item].
struct DeviceSource {
  enum Kind { constant, given, doubles, floats, bfloat16, float16, index } kind;
  const void* data;
  // an index has the value first + n + 1; entry k of a given value is given[first + k] of FillJob
  long long entry, item, first;
  double value;
  int offset, size;
};

// Fills the levels of a map-reduce: out[n * stride + k], k < entries, n < count. The levels of rows and columns read
// the uniform level: each block computes the uniform level, unless it is too long.
struct FillJob {
  static constexpr int most_sources = 40, most_given = 64, most_own = 512;
  struct Level {
    int first_source, end_source;
    void* out;
    long long count;
  } levels[3];                // uniform, rows, columns
  unsigned row_blocks;        // number of blocks that fill rows; the other blocks of the grid fill columns
  const DeviceSource* table;  // used instead of `sources` if there are too many sources
  DeviceSource sources[most_sources];
  double given[most_given];
};

static_assert(sizeof(FillJob) <= 4096, "it travels with the launch");

// Up to this number of splits, one thread joins the splits of a row; for more, a block does.
constexpr int merged_by_one = 64;
// If totals are vectors, a block joins this number of rows and entries, one per thread.
constexpr int merged_rows = 32, merged_entries = 8;

// The job of a reduction of pairs. `rows` and `columns` point to the (possibly virtual) address of item 0: only columns
// column_begin .. column_end exist. If few rows use the columns, the kernel computes the columns from their sources as
// needed, without a filled level.
struct PairJob {
  static constexpr int most_sources = 8;
  const void *once, *rows, *columns;  // filled levels
  long long row_begin, row_end, column_begin, column_end;
  long long columns_per_split;  // columns that one block reduces
  int splits;                   // number of splits to reduce, or to merge
  int any_columns;              // true if there are columns, on this device or another
  // null if each row is finished immediately; otherwise the states of the splits, one split after another
  void* partials;
  long long partial_rows;  // number of states of each split
  int* arrivals;           // counters: the last thread block of some rows merges the splits; null: a later launch does
  double* out;             // entry k of row n at out[k * out_entry + n * out_row]; null: merged into the first split
  long long out_entry, out_row;
  long long out_column;    // distance between stored values of neighbouring columns
  const RowBlock* blocks;  // null for all pairs; otherwise the rows of each block of the grid
  const Interval* intervals;
  int source_count;
  DeviceSource sources[most_sources];  // sources of columns from column_begin on
};

}  // namespace kernops
