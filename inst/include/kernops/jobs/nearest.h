// The arguments of the kernels of nearest columns: plain structs, shared by host and device.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// A tile of so many rows and as many columns is met at a time.
constexpr int nearest_tile = 128;
// Behind each list there is room for so many columns that wait to join it.
constexpr int nearest_waiting = 32;

// A column near a row, and a bound of its distance.
struct Neighbour {
  float number;
  int column;
};

// Rows or columns. `items` are those of the filled level; derived arrays are padded to whole tiles: `norms` has the
// squared length of each vector, `halves` centred numbers of 16 bits, in chunks of 64 bytes. `bounds` of rows has the
// squared lengths of the rounded vectors; `bounds` of columns has, for each two columns, their negated terms of bounds,
// each twice.
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
  double* longest;  // two: the largest of the squared lengths of rows, and of columns
  int* odd;         // becomes 1 where numbers are not finite, or bounds cannot tell
  int splits, columns_per_split;
  int stride;  // from one tile of columns to the next; it has no divisor in common with how many a split has
  Neighbour* lists;
  unsigned* limits;  // of each row, below which bounds are to be in all splits; numbers as bits in order
  double* out;       // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

}  // namespace kernops
