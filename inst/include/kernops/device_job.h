// What the host hands to the kernels of the .cuh files: plain structs, the same for both.
#pragma once

namespace kernops {

// Where `size` entries of a place come from: entry k of item n at data[k * entry + n * item].
struct DeviceSource {
  enum Kind { constant, doubles, floats, index } kind;
  const void* data;
  long long entry, item, first;  // an index is first + n + 1
  double value;
  int offset, size;
};

// Fills a place: out[n * stride + k], k < entries, n < count.
struct AxisJob {
  static constexpr int most = 16;
  DeviceSource sources[most];
  const DeviceSource* table;  // instead of `sources`, where there are more
  int source_count, stride;
  const void* once;
  void* out;
  long long count;
};

// So many chunks of a row one thread joins; a block joins more.
constexpr int merged_by_one = 64;

struct PairJob {
  const void *once, *rows, *lanes;  // filled places
  long long row_begin, row_end, lane_count;
  long long chunk;  // lanes that one block reduces
  int chunks;
  void* partials;   // of each row, chunk by chunk, where there are several
  double* out;      // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

// Rows and columns of a matrix, by positions from 1 (matrix.cuh).
struct GatherJob {
  const void* from;
  void* out;
  const int *rows, *columns;
  long long from_rows, row_count;
  int column_count;
};

// Blocks of vectors, rows x columns, column by column (solve.cuh). Where x is multiplied by a matrix, it has `inner`
// columns.
struct VectorJob {
  const double* x;
  double* y;
  const double *a, *b;  // a number for each column, or row, or a matrix
  double *partials, *sums;
  long long rows;
  int inner, columns, parts;  // of a column's sum
};

}  // namespace kernops
