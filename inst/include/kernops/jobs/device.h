// The arguments of the kernels of a map-reduce: plain structs, shared by host and device.
#pragma once
#include <kernops/jobs/blocks.h>

namespace kernops {

// Items of a level stand so many numbers of so many bytes apart: a multiple of 16 bytes where they do not fit
// into less.
KERNOPS_FN constexpr int padded(int entries, int bytes) {
  return entries * bytes <= 4 ? entries : entries * bytes <= 8 ? 8 / bytes : (entries * bytes + 15) / 16 * 16 / bytes;
}

// Where `size` entries of a level come from: entry k of item n at data[k * entry + n * item].
struct DeviceSource {
  enum Kind { constant, given, doubles, floats, index } kind;
  const void* data;
  long long entry, item, first;  // an index is first + n + 1, a given number that of FillJob at first + k
  double value;
  int offset, size;
};

// Fills the levels of a map-reduce: out[n * stride + k], k < entries, n < count. The levels of rows and columns read
// the uniform level: each block computes the uniform level anew, unless it is too long.
struct FillJob {
  static constexpr int most_sources = 40, most_given = 64, most_own = 512;
  struct Level {
    int first_source, end_source;
    void* out;
    long long count;
  } levels[3];                // once, rows, columns
  unsigned row_blocks;        // the first of the grid; the others take columns
  const DeviceSource* table;  // instead of `sources`, where there are more
  DeviceSource sources[most_sources];
  double given[most_given];
};

static_assert(sizeof(FillJob) <= 4096, "it travels with the launch");

// So many splits of a row one thread joins; a block joins more.
constexpr int merged_by_one = 64;
// Where totals are vectors, a block joins those of so many rows and entries, one a thread.
constexpr int merged_rows = 32, merged_entries = 8;

// `rows` and `columns` point to where number 0 is, or would be: of the columns, only column_begin .. column_end are
// there. Where few rows meet them, columns are made from their sources as they are needed, instead of a filled level.
struct PairJob {
  static constexpr int most_sources = 8;
  const void *once, *rows, *columns;  // filled levels
  long long row_begin, row_end, column_begin, column_end;
  long long columns_per_split;  // that one block reduces
  int splits;                   // to reduce, or to merge
  int any_columns;              // whether there are any, here or elsewhere
  void* partials;               // null: each row is finished at once. Else the states of split after split,
  long long partial_rows;       // so many rows in each;
  int* arrivals;                // of each block of rows, the last to arrive merges; null: a launch of its own does
  double* out;  // entry k of row n at out[k * out_entry + n * out_row]; null: merged into the first split
  long long out_entry, out_row;
  long long out_column;    // where pairs are stored, from column to column
  const RowBlock* blocks;  // where not all pairs are there: of rows, one for each block of the grid
  const Interval* intervals;
  int source_count;
  DeviceSource sources[most_sources];  // of column_begin and those after it
};

}  // namespace kernops
