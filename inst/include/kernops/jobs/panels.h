// The arguments of the kernels of panels: plain structs, shared by host and device.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {

// Vectors as whole numbers of some signed digits to the base 256, the largest digits first or last: digit d of entry k
// of vector n at at[(n * places + d) * length + k]. Vector n is steps[n] / 16^(places - 1) times these.
struct Digits {
  signed char* at;
  double* steps;
  int places, length;
};
constexpr int contraction_places = 3, sum_places = 4;  // of what is contracted, and of what is added up

// Vectors that become such digits. Entry k of vector n is from[n * item + k * entry]; those from `entries` on are 0.
struct DigitJob {
  const double* from;
  long long item, entry;
  int items, entries, backwards;  // whether the largest digits come last
  Digits to;
  int* odd;
};

constexpr int most_panel_terms = 4;  // contractions of a pair, and numbers

// A panel: some rows and columns, in filled levels. `pairs` holds the contractions of its pairs, row by row, and then
// those of their numbers that multiply vectors of the columns, each kind `kinds_apart` from the one before; `sums` what
// these times the vectors are, `width` a row; `totals` of each row those of all numbers; `shifts` one number a row.
//
// Where products are those of digits, `products` holds them by the sum of their digits' places, each `apart` from the
// one before: first of the vectors of rows and columns, one contraction after another, then of pairs and vectors,
// `product_width` a row.
struct PanelJob {
  const void *once, *rows, *columns;
  double *pairs, *sums, *shifts, *totals;
  long long kinds_apart;
  int* odd;  // becomes 1 where numbers are not finite, or vectors are too long for the expansion of their distances
  int row_count, column_count, width, first;  // whether it is the first panel of its rows
  double* out;                                // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
  const int* products;
  long long apart;
  int product_width, adds;                                                     // whether sums are there already
  const double *row_steps[most_panel_terms], *column_steps[most_panel_terms];  // by contraction
  Digits numbers[most_panel_terms];                                            // of the pairs, by rows
  const double *number_steps, *vector_steps;                                   // of what is added up
};

}  // namespace kernops
