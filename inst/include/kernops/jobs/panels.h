// The arguments of the kernels for panels (parts of the matrix of all pairs): plain structs for host and device.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {

// Vectors of whole numbers, written with signed digits to the base 256. The most significant digit is the first or the
// last digit. Digit d of entry k of vector n is at[(n * places + d) * length + k]. The represented vector n is the
// vector of whole numbers n times steps[n] / 16^(places - 1).
struct Digits {
  signed char* at;
  double* steps;
  int places, length;
};
constexpr int contraction_places = 3, sum_places = 4;  // number of digits of contracted vectors, and of summed vectors

// The conversion of vectors to digits. Entry k of vector n is from[n * item + k * entry]. Entries from entry `entries`
// on are 0.
struct DigitJob {
  const double* from;
  long long item, entry;
  int items, entries, backwards;  // backwards: 1 if the most significant digit comes last
  Digits to;
  int* odd;
};

constexpr int most_panel_terms = 4;  // maximum number of contractions, and of scalars, of a pair

// A panel consists of some rows and columns. `pairs` first contains the contractions of each pair, row by row. Then the
// scalars that multiply vectors of the columns replace the contractions. Successive contractions (or scalars) of a pair
// are `kinds_apart` entries apart. `sums` has the sums of scalars times vectors, with `width` entries per row. `totals`
// has the sum of each scalar over the columns, for each row. `shifts` has one shift of the exponents per row.
//
// If products are computed from digits, `products` has one matrix product for each value of i + j, where i and j are
// the positions of the two multiplied digits. Successive products are `apart` entries from each other. `products` first
// contains the products of vectors of rows and columns, one contraction after another. Later, `products` contains the
// products of scalars and vectors, with `product_width` entries per row.
struct PanelJob {
  const void *once, *rows, *columns;
  double *pairs, *sums, *shifts, *totals;
  long long kinds_apart;
  int* odd;  // becomes 1 if numbers are not finite, or if vectors are too long for the expansion of their distances
  int row_count, column_count, width, first;  // first: 1 for the first panel of these rows
  double* out;                                // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
  const int* products;
  long long apart;
  int product_width, adds;  // adds: 1 to add to earlier sums
  // for each contraction, the steps of the rows' vectors and of the columns' vectors
  const double *row_steps[most_panel_terms], *column_steps[most_panel_terms];
  // for each scalar of a pair, the digits, row by row
  Digits numbers[most_panel_terms];
  const double *number_steps, *vector_steps;  // steps of the scalars, and of the vectors that they multiply
};

}  // namespace kernops
