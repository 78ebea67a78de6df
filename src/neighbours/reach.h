// Variances of weighted sums of a few points, by back substitution with a sparse triangular factor whose rows contain
// earlier points only. A sum has weights at few points and reaches few other points through the factor; the
// substitution visits only these points.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "run/parallel_for.h"

namespace kernops::neighbours {

// Sets of points: m numbers per set, from 1, or 0 for none.
struct PointSets {
  const int* at;
  Count count;
  int m;
};

// The number of sums for which one back substitution is computed. The workspace of a thread, ReachScratch, contains
// only zeros before and after each substitution.
constexpr int sum_lanes = 8;

struct ReachScratch {
  explicit ReachScratch(Count points) : value(size_t(points * sum_lanes)), reached(size_t(points + 63) / 64) {}
  std::vector<double> value;
  std::vector<uint64_t> reached;
};

inline int highest_bit(uint64_t bits) {
  int at = 0;
  for (int half = 32; half > 0; half /= 2)
    if (bits >> half) bits >>= half, at += half;
  return at;
}

// Computes the variances of the weighted sums with the numbers `which`. A variance is the sum of value^2 *
// factor.variance(point) over the points that the weighted sum reaches. For row i, factor.each(i, f) calls f(entry, j)
// for each earlier point j of the row; f subtracts entry * factor.scale(i, value) from the value of j. If a row
// contributes less than the share factor.nothing to the variance, its earlier points are not updated. Unless `parts` is
// null, it has a column of `points` zeros for each sum. The function sets these columns such that the inner product of
// two columns is the covariance of their sums.
template <class Factor>
void variances_of_sums(const Factor& factor, Count points, const PointSets& sets, const double* weights,
                       const Count* which, int count, ReachScratch& scratch, double* to, double* parts) {
  double* const value = scratch.value.data();
  const auto reach = [&](size_t j) { scratch.reached[j / 64] |= uint64_t(1) << (j % 64); };
  size_t word = 0;
  for (int lane = 0; lane < count; ++lane)
    for (Count k = which[lane] * sets.m; k < (which[lane] + 1) * sets.m; ++k) {
      if (sets.at[k] == 0) continue;
      const size_t j = size_t(sets.at[k]) - 1;
      value[j * sum_lanes + size_t(lane)] += weights[k], reach(j), word = std::max(word, j / 64 + 1);
    }
  double sum[sum_lanes] = {}, share[sum_lanes];
  while (word-- > 0)
    while (scratch.reached[word]) {
      const size_t i = 64 * word + size_t(highest_bit(scratch.reached[word]));
      scratch.reached[word] ^= uint64_t(1) << (i % 64);
      double* const own = value + i * sum_lanes;
      const double variance = factor.variance(i);
      bool any = false;
      for (int lane = 0; parts && lane < count; ++lane)
        parts[size_t(which[lane] * points) + i] = own[lane] * std::sqrt(variance);
      for (int lane = 0; lane < sum_lanes; ++lane) {
        const double part = own[lane] * own[lane] * variance;
        sum[lane] += part;
        share[lane] = part < factor.nothing * sum[lane] ? 0 : factor.scale(i, own[lane]);
        any |= share[lane] != 0, own[lane] = 0;
      }
      if (!any) continue;
      factor.each(i, [&](double entry, size_t j) {
        double* const at = value + j * sum_lanes;
        for (int lane = 0; lane < sum_lanes; ++lane) at[lane] -= entry * share[lane];
        reach(j);
      });
    }
  for (int lane = 0; lane < count; ++lane) to[which[lane]] = sum[lane];
}

// Orders sets such that adjacent sets have the same first two points. Such sets also have most other points in common,
// and reach the same points.
inline std::vector<Count> alike_together(const PointSets& sets, const Settings& settings) {
  std::vector<std::pair<uint64_t, Count>> firsts(static_cast<size_t>(sets.count));
  in_parts(
      sets.count, settings,
      [&](Count begin, Count end) {
        for (Count set = begin; set < end; ++set) {
          uint32_t first = UINT32_MAX, second = UINT32_MAX;
          for (Count k = set * sets.m; k < (set + 1) * sets.m; ++k) {
            const uint32_t point = sets.at[k] > 0 ? uint32_t(sets.at[k]) : UINT32_MAX;
            second = std::min(second, std::max(first, point)), first = std::min(first, point);
          }
          firsts[size_t(set)] = {uint64_t(first) << 32 | second, set};
        }
      },
      1024);
  std::sort(firsts.begin(), firsts.end());
  std::vector<Count> order;
  order.reserve(firsts.size());
  for (const auto& one : firsts) order.push_back(one.second);
  return order;
}

// Calls variances_of_sums() for all sums, in groups of sums that are adjacent in `order`.
template <class Factor>
void variances_of_all_sums(const Factor& factor, Count points, const PointSets& sets, const double* weights,
                           const std::vector<Count>& order, const Settings& settings, double* to, double* parts) {
  const Count units = ceil_div(sets.count, Count(sum_lanes)), workers = std::min<Count>(settings.threads, units);
  std::vector<ReachScratch> scratch(static_cast<size_t>(workers), ReachScratch{points});
  parallel_for(units, workers, settings, [&](Count number, Count worker) {
    const Count first = number * sum_lanes;
    variances_of_sums(factor, points, sets, weights, order.data() + first,
                      int(std::min(Count(sum_lanes), sets.count - first)), scratch[size_t(worker)], to, parts);
  });
}

}  // namespace kernops::neighbours
