// What the host hands to cuda/wide/shifted_sums.cuh.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// Of row n: top[n] is the largest exponent, and sums[n * width + k] are the sums of exponentials times weights, as seen
// from it. The last sum of a softmax is that of the exponentials alone, and is no result.
struct ShiftedSumsJob {
  static constexpr double most = 1e38;  // larger exponents are taken for this one
  const double *top, *sums;
  int width, results;  // entries of a row
  int first;           // whether the largest exponent comes first, before the sums
  int take_log;        // whether the results are logarithms of the sums
  int divide;          // whether they are divided by the last of the sums
  long long row_count;
  double* out;  // entry k of row n at out[k * out_entry + n * out_row]
  long long out_entry, out_row;
};

}  // namespace kernops
