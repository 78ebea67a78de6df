// Range searches by a kd-tree: a search enters the nodes whose boxes the ball around the query meets. Counts take nodes
// that lie in the ball as a whole.
#include "neighbours/within.h"

#include <algorithm>
#include <cmath>

#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 256;  // queries that a thread takes at a time

// The squared distance to the farthest corner of a box.
template <int D> double squared_reach(const double* a, const double* box, int d) {
  double sum = 0;
  const int size = D ? D : d;
  for (int k = 0; k < size; ++k) {
    const double far = std::max(a[k] - box[k], box[size + k] - a[k]);
    sum += far * far;
  }
  return sum;
}

template <int D> class Ball {
 public:
  // Squares decide away from the sphere; next to it, a point is inside if its rounded distance is at most the radius.
  Ball(const KdTree& tree, double radius)
      : tree_(tree), radius_(radius), inner_(radius * radius * (1 - 1e-12)), outer_(radius * radius * (1 + 1e-12)) {}

  // each(i, squared distance) for the points in the ball.
  template <class Each> void visit(const double* query, const Each& each, Count node = 1) const {
    if (squared_distance_to_box<D>(query, tree_.box(node), tree_.points.d) > outer_) return;
    if (!tree_.is_leaf(node)) return visit(query, each, 2 * node), visit(query, each, 2 * node + 1);
    for (Count i = tree_.begin(node), end = tree_.end(node); i < end; ++i) {
      const double square = squared_distance<D>(query, tree_.points[i], tree_.points.d);
      if (square <= inner_ || (square <= outer_ && std::sqrt(square) <= radius_)) each(i, square);
    }
  }

  Count count(const double* query, Count node = 1) const {
    const double* const box = tree_.box(node);
    if (squared_distance_to_box<D>(query, box, tree_.points.d) > outer_) return 0;
    if (squared_reach<D>(query, box, tree_.points.d) <= inner_) return tree_.end(node) - tree_.begin(node);
    if (!tree_.is_leaf(node)) return count(query, 2 * node) + count(query, 2 * node + 1);
    Count inside = 0;
    visit(
        query, [&](Count, double) { ++inside; }, node);
    return inside;
  }

 private:
  const KdTree& tree_;
  const double radius_, inner_, outer_;
};

// work(ball, i) for each query.
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
