// Inner products of two vectors.
#pragma once
#include <cstddef>

namespace kernops {

// Uses four partial sums, so that an addition need not wait for the previous one.
inline double inner_product(const double* a, const double* b, std::ptrdiff_t n) {
  double sums[4] = {};
  std::ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int u = 0; u < 4; ++u) sums[u] += a[i + u] * b[i + u];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace kernops
