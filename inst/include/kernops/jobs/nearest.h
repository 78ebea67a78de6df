// The arguments of the kernels that find the nearest columns of each row: plain structs for host and device.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The number of rows, and of columns, of a tile.
constexpr int nearest_tile = 128;
// The number of columns that a row buffers before they join its list.
constexpr int nearest_waiting = 32;

// A column near a row, and a lower bound of their distance without the term of the row.
struct Neighbour {
  float number;
  int column;
};

// The rows or the columns of a search. `items` has the entries of the rows or columns as doubles. The other arrays are
// padded to whole tiles: `norms` has the squared length of each vector, and `halves` has centred 16-bit numbers, in
// chunks of 64 bytes. For rows, `bounds` has the squared lengths of the rounded vectors. For columns, `bounds` has the
// negated terms of the lower bounds. For each pair of adjacent columns, the two terms are stored twice.
struct NearestPoints {
  const double* items;
  int count;
  double* norms;
  float *halves, *bounds;
};

// A search for the nearest columns. Each row has one list for each of the `splits` parts of the columns. The mean of
// the first rows is the centre, which is subtracted from all vectors.
struct NearestJob {
  NearestPoints rows, columns;
  double* centre;
  double* longest;  // two numbers: the largest squared length of a row's vector, and of a column's vector
  int* odd;         // becomes 1 if numbers are not finite, or if bounds do not separate columns
  int splits, columns_per_split;
  int stride;  // number of tiles from a tile to the next processed tile; coprime to the number of tiles of a split
  Neighbour* lists;
  unsigned* limits;  // for each row: smallest limit of bounds over all splits, as ordered bits (bits_in_order())
  double* out;       // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

}  // namespace kernops
