#include "neighbours/kd_tree.h"

#include <algorithm>
#include <cmath>

#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

Count first_of_level(Count node) {
  Count first = 1;
  while (2 * first <= node) first *= 2;
  return first;
}

}  // namespace

// The nodes of a level share the points out evenly.
Count KdTree::begin(Count node) const {
  const Count first = first_of_level(node);
  return points.n * (node - first) / first;
}
Count KdTree::end(Count node) const {
  const Count first = first_of_level(node);
  return points.n * (node - first + 1) / first;
}

KdTree::KdTree(const Points& given, Count leaf, const Settings& settings) : row(size_t(given.n)), leaves(1) {
  points.n = given.n, points.d = given.d;
  while (leaves * leaf < given.n) leaves *= 2;
  boxes.resize(size_t(4 * leaves * given.d));
  for (Count i = 0; i < given.n; ++i) row[size_t(i)] = int(i);
  for (Count level = 1; level <= leaves; level *= 2)
    parallel_for(level, std::min<Count>(settings.threads, level), settings,
                 [&](Count unit, Count) { split(level + unit, given); });
  points.at.resize(given.at.size());
  for (Count i = 0; i < given.n; ++i) std::copy_n(given[row[size_t(i)]], given.d, points.at.data() + i * given.d);
}

// The points of a node, with equal halves for its children: by the coordinate that varies most, equal ones by row.
void KdTree::split(Count node, const Points& given) {
  const int d = given.d;
  double *const low = boxes.data() + 2 * d * node, *const high = low + d;
  const Count from = begin(node), to = end(node);
  for (int k = 0; k < d; ++k) low[k] = HUGE_VAL, high[k] = -HUGE_VAL;
  for (Count i = from; i < to; ++i) {
    const double* const point = given[row[size_t(i)]];
    for (int k = 0; k < d; ++k) low[k] = std::min(low[k], point[k]), high[k] = std::max(high[k], point[k]);
  }
  if (is_leaf(node)) return;
  int widest = 0;
  for (int k = 1; k < d; ++k)
    if (high[k] - low[k] > high[widest] - low[widest]) widest = k;
  std::vector<std::pair<double, int>> keys;
  keys.reserve(size_t(to - from));
  for (Count i = from; i < to; ++i) keys.emplace_back(given[row[size_t(i)]][widest], row[size_t(i)]);
  std::nth_element(keys.begin(), keys.begin() + (end(2 * node) - from), keys.end());
  for (Count i = from; i < to; ++i) row[size_t(i)] = keys[size_t(i - from)].second;
}

}  // namespace kernops::neighbours
