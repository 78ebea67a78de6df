// The arguments of the kernels of panels: plain structs, shared by host and device.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {

// Vectors as whole numbers of some signed digits to the base 256, the largest digits first or last: digit d of entry k
// of vector n is at[(n * places + d) * length + k]. Vector n equals steps[n] / 16^(places - 1) times these whole
// numbers.
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

constexpr int most_panel_terms = 4;  // contractions of a pair, and numbers

// A panel: some rows and columns, in filled levels. `pairs` holds the contractions of its pairs, row by row, and then
// the numbers that multiply vectors of the columns, with kinds `kinds_apart` from each other; `sums` holds the sums of
// these numbers times the vectors, `width` per row; `totals` holds, for each row, the sums of all numbers; `shifts`
// holds one number per row.
//
// If products are computed from digits, `products` holds one product for each sum of the positions of two digits,
// `apart` from each other: first of the vectors of rows and columns, one contraction after another, then of pairs and
// vectors, `product_width` per row.
struct PanelJob {
  const void *once, *rows, *columns;
  double *pairs, *sums, *shifts, *totals;
  long long kinds_apart;
  int* odd;  // becomes 1 if numbers are not finite, or if vectors are too long for the expansion of their distances
  int row_count, column_count, width, first;  // whether it is the first panel of its rows
  double* out;                                // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
  const int* products;
  long long apart;
  int product_width, adds;                                                     // whether there are earlier sums
  const double *row_steps[most_panel_terms], *column_steps[most_panel_terms];  // by contraction
  Digits numbers[most_panel_terms];                                            // digits of the pairs, by rows
  const double *number_steps, *vector_steps;                                   // steps of the summed digits
};

}  // namespace kernops
