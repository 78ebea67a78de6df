#include "neighbours/within.h"

#include <algorithm>
#include <cmath>

#include "neighbours/ball.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 256;  // number of queries that a thread processes at a time

// Calls work(ball, i) for each query i.
template <class Work>
void for_queries(const KdTree& tree, Count count, double radius, const Settings& settings, const Work& work) {
  if (tree.points.n == 0) return;
  with_dimension(tree.points.d, [&](auto D) {
    const Ball<D.value> ball(tree, radius);
    const Count units = ceil_div(count, unit);
    parallel_for(units, std::min<Count>(settings.threads, units), settings, [&](Count number, Count) {
      for (Count i = number * unit; i < std::min(count, (number + 1) * unit); ++i) work(ball, i);
    });
  });
}

}  // namespace

std::vector<std::vector<Within>> find_within(const KdTree& tree, const double* queries, Count count, double radius,
                                             const int* skip, const Settings& settings) {
  std::vector<std::vector<Within>> lists(static_cast<size_t>(count));
  for_queries(tree, count, radius, settings, [&](const auto& ball, Count i) {
    std::vector<Within>& list = lists[size_t(i)];
    ball.visit(queries + i * tree.points.d, [&](Count point, double square) {
      const int row = tree.row[size_t(point)];
      if (!skip || row != skip[i]) list.push_back({row, std::sqrt(square)});
    });
    std::sort(list.begin(), list.end(), [](const Within& a, const Within& b) { return a.row < b.row; });
  });
  return lists;
}

std::vector<double> count_within(const KdTree& tree, const double* queries, Count count, double radius, const int* skip,
                                 const Settings& settings) {
  std::vector<double> counts(size_t(count), 0.0);
  for_queries(tree, count, radius, settings, [&](const auto& ball, Count i) {
    counts[size_t(i)] = double(ball.count(queries + i * tree.points.d) - (skip ? 1 : 0));
  });
  return counts;
}

}  // namespace kernops::neighbours
