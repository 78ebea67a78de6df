// Which order statistics a quantile is made of: the nine types of Hyndman and Fan (1996), as R numbers them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "run/data.h"

namespace kernops {

// (1 - share) times order statistic `lower` plus share times the next one; statistics are counted from 0.
struct QuantilePosition {
  Count lower, upper;
  double share;
};

// The position among n values, where n may be a sum of weights. A position next to a whole number is rounded, as in R.
inline QuantilePosition quantile_position(int type, double n, double p) {
  constexpr double fuzz = 4 * std::numeric_limits<double>::epsilon();
  double position, share, lower;
  if (type == 7) {
    position = std::max(n - 1, 0.0) * p + 1;
    lower = std::floor(position), share = position - lower;
  } else if (type <= 3) {
    position = type == 3 ? n * p - 0.5 : n * p;
    lower = std::floor(position + fuzz);
    share = type == 1   ? position > lower
            : type == 2 ? ((position > lower) + 1) / 2.0
                        : position != lower || std::fmod(lower, 2) == 1;
  } else {
    const double a = type == 4 ? 0 : type == 5 ? 0.5 : type == 6 ? 0 : type == 8 ? 1.0 / 3 : 3.0 / 8;
    const double b = type == 4 ? 1 : a;
    position = a + p * (n + 1 - a - b);
    lower = std::floor(position + fuzz), share = position - lower;
    if (std::abs(share) < fuzz) share = 0;
  }
  const double last = std::max(std::ceil(n), 1.0);
  const auto index = [=](double k) { return Count(std::min(std::max(k, 1.0), last)) - 1; };
  return {index(lower), index(lower + 1), share};
}

// R computes so, which keeps equal and infinite values as they are.
inline double between(double lower, double upper, double share) {
  if (share == 0 || lower == upper) return lower;
  return share == 1 ? upper : (1 - share) * lower + share * upper;
}

}  // namespace kernops
