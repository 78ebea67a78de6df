// The arguments of the kernels of nearest columns: plain structs, shared by host and device.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The number of rows, and of columns, of a tile.
constexpr int nearest_tile = 128;
// The number of columns that a list buffers before it joins them.
constexpr int nearest_waiting = 32;

// A column near a row, and a bound of its distance.
struct Neighbour {
  float number;
  int column;
};

// Rows or columns. `items` are the items of the filled level. Derived arrays are padded to whole tiles: `norms` has the
// squared length of each vector; `halves` has centred 16-bit numbers, in chunks of 64 bytes. For rows, `bounds` has the
// squared lengths of the rounded vectors. For columns, `bounds` has four numbers for each two columns: their negated
// terms of bounds, twice.
struct NearestPoints {
  const double* items;
  int count;
  double* norms;
  float *halves, *bounds;
};

// Each row has `splits` lists of columns, one after another. The mean of the first rows is the centre.
struct NearestJob {
  NearestPoints rows, columns;
  double* centre;
  double* longest;  // two numbers: the largest squared length of rows, and of columns
  int* odd;         // becomes 1 if numbers are not finite, or if bounds do not separate columns
  int splits, columns_per_split;
  int stride;  // step from one tile of columns to the next; coprime to the number of tiles of a split
  Neighbour* lists;
  unsigned* limits;  // for each row, the smallest limit of bounds over all splits, as bits in the order of the numbers
  double* out;       // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

}  // namespace kernops
