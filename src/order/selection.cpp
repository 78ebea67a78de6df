// Selection of an order statistic and the next one, without sorting.
#include <algorithm>
#include <cmath>

#include "order/radix.h"
#include "order/sample.h"

namespace kernops {
namespace {

constexpr Count few = 24, many = 4096;

Pair select_within(double* x, Count n, Count k) {
  if (n <= few)
    insert_in_order(x, n, false);
  else
    std::nth_element(x, x + k, x + n);
  return {x[k], k + 1 == n ? x[k] : n <= few ? x[k + 1] : *std::min_element(x + k + 1, x + n)};
}

// Two values of a sorted sample that very probably enclose order statistics k and k + 1 of all n numbers.
Pair bracket(const double* x, Count n, Count k) {
  constexpr Count size = 1024;
  double sample[size];
  for (Count m = 0; m < size; ++m) sample[m] = x[m * n / size + (m * 7919) % (n / size)];
  std::sort(sample, sample + size);
  const double share = double(k) / double(n), centre = share * size;
  const double spread = 4 * std::sqrt(size * share * (1 - share)) + 4;
  const double low = centre - spread, high = centre + spread;
  return {low < 0 ? -HUGE_VAL : sample[Count(low)], high > size - 1 ? HUGE_VAL : sample[Count(high)]};
}

}  // namespace

// Selects order statistics of many numbers: one pass keeps the numbers within a bracket (Floyd and Rivest 1975), from
// which the statistics are then selected.
Pair Sample::select(Count k) {
  if (count < many) return select_within(x.data(), count, k);
  const Pair ends = bracket(x.data(), count, k);
  if (Count(memory_.size()) < count) memory_.resize(size_t(count));
  double* const inside = memory_.data();
  Count below = 0, kept = 0;
  for (Count m = 0; m < count; ++m) {
    const double value = x[size_t(m)];
    inside[kept] = value;
    below += value < ends.lower;
    kept += (value >= ends.lower) & (value <= ends.upper);
  }
  const bool enclosed = below <= k && std::min(k + 1, count - 1) < below + kept;
  return enclosed ? select_within(inside, kept, k - below) : select_within(x.data(), count, k);
}

}  // namespace kernops
