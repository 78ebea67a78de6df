// What the host hands to the kernels of panels: plain structs, the same for both.
#pragma once
#include <kernops/jobs/device.h>

namespace kernops {

// A panel: some rows and columns, in filled levels. `pairs` holds the contractions of its pairs, row by row, and then
// their numbers; `sums` what these times the vectors of the columns are, `width` a row; `totals` and `shifts` have one
// number a row.
struct PanelJob {
  const void *once, *rows, *columns;
  double *pairs, *sums, *shifts, *totals;
  int* odd;  // becomes 1 where numbers are not finite, or vectors are too long for the expansion of their distances
  int row_count, column_count, width, first;  // whether it is the first panel of its rows
  double* out;                                // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

}  // namespace kernops
