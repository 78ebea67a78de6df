// The arguments of the kernels of panels: plain structs, shared by host and device.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {

// Vectors of whole numbers, written with signed digits to the base 256. The most significant digit is the first or the
// last digit. Digit d of entry k of vector n is at[(n * places + d) * length + k]. Vector n is steps[n] / 16^(places -
// 1) times its whole numbers.
struct Digits {
  signed char* at;
  double* steps;
  int places, length;
};
constexpr int contraction_places = 3, sum_places = 4;  // digits of contracted vectors, and of summed vectors

// Vectors that are converted to digits. Entry k of vector n is from[n * item + k * entry]; entries from `entries` on
// are 0.
struct DigitJob {
  const double* from;
  long long item, entry;
  int items, entries, backwards;  // backwards: 1 if the largest digits come last
  Digits to;
  int* odd;
};

constexpr int most_panel_terms = 4;  // maximum number of contractions, and of scalars, of a pair

// A panel consists of some rows and columns. `pairs` first holds the contractions of each pair, row by row; scalars
// that multiply vectors of the columns then replace the contractions. Each contraction or scalar of all pairs takes
// `kinds_apart` entries. `sums` holds the sums of scalars times vectors, `width` per row; `totals` holds the sums of
// all scalars of each row; `shifts` holds one shift per row.
//
// If products are computed from digits, `products` holds one matrix product for each sum of the positions of two
// digits. Products with different sums of positions are `apart` entries from each other. `products` first holds the
// products of vectors of rows and columns, one contraction after another, and later the products of pairs and vectors,
// `product_width` per row.
struct PanelJob {
  const void *once, *rows, *columns;
  double *pairs, *sums, *shifts, *totals;
  long long kinds_apart;
  int* odd;  // becomes 1 if numbers are not finite, or if vectors are too long for the expansion of their distances
  int row_count, column_count, width, first;  // first: 1 if the panel is the first one of its rows
  double* out;                                // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
  const int* products;
  long long apart;
  int product_width, adds;                                                     // adds: 1 if there are earlier sums
  const double *row_steps[most_panel_terms], *column_steps[most_panel_terms];  // steps for each contraction
  // digits of the scalars of pairs, row by row
  Digits numbers[most_panel_terms];
  const double *number_steps, *vector_steps;  // steps of the summed digits
};

}  // namespace kernops
