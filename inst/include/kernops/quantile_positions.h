// The order statistics from which a quantile is computed: the nine types of Hyndman and Fan (1996), with the numbers
// that R uses. The GPU and the CPU round in the same way.
#pragma once
#include <kernops/portable.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Returns the rounded product x y. The compiler must not fuse the multiplication with an addition of the caller.
#ifdef __CUDA_ARCH__
KERNOPS_FN double product(double x, double y) { return __dmul_rn(x, y); }
#else
KERNOPS_FN double product(double x, double y) { return x * y; }
#endif

// A quantile is (1 - share) times order statistic `lower`, plus `share` times order statistic `upper`. Order statistics
// are counted from 0.
struct QuantilePosition {
  long long lower, upper;
  double share;
};

// Returns the position of the quantile for probability p among n values, where n may be a sum of weights. A position
// that is almost a whole number is rounded, as in R.
KERNOPS_FN QuantilePosition quantile_position(int type, double n, double p) {
  constexpr double fuzz = 4 * 2.220446049250313e-16;
  double position, share, lower;
  if (type == 7) {
    position = product(n > 1 ? n - 1 : 0, p) + 1;
    lower = floor(position), share = position - lower;
  } else if (type <= 3) {
    position = type == 3 ? product(n, p) - 0.5 : product(n, p);
    lower = floor(position + fuzz);
    share = type == 1   ? position > lower
            : type == 2 ? ((position > lower) + 1) / 2.0
                        : position != lower || fmod(lower, 2.0) == 1;
  } else {
    const double a = type == 4 ? 0 : type == 5 ? 0.5 : type == 6 ? 0 : type == 8 ? 1.0 / 3 : 3.0 / 8;
    const double b = type == 4 ? 1 : a;
    position = a + product(p, n + 1 - a - b);
    lower = floor(position + fuzz), share = position - lower;
    if (fabs(share) < fuzz) share = 0;
  }
  const double whole = ceil(n), last = whole > 1 ? whole : 1;
  const double first = lower < 1 ? 1 : lower < last ? lower : last, next = lower + 1 < 1 ? 1 : lower + 1;
  return {(long long)(first)-1, (long long)(next < last ? next : last) - 1, share};
}

// Interpolates like R, by a formula that preserves equal and infinite values.
KERNOPS_FN double between(double lower, double upper, double share) {
  if (share == 0 || lower == upper) return lower;
  return share == 1 ? upper : product(1 - share, lower) + product(share, upper);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
