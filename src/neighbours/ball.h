// Range searches in a k-d tree. A search enters the nodes whose boxes intersect the ball around the query. A count adds
// the number of points of a node at once if the node lies inside the ball.
#pragma once
#include <algorithm>
#include <cmath>

#include "neighbours/kd_tree.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

// The squared distance from a to the farthest corner of a box.
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
  // Squared distances decide whether points are in the ball, except for points close to the sphere: such a point is in
  // the ball if its rounded distance is at most the radius.
  Ball(const KdTree& tree, double radius)
      : tree_(tree), radius_(radius), inner_(radius * radius * (1 - 1e-12)), outer_(radius * radius * (1 + 1e-12)) {}

  // Calls each(i, squared distance) for each point in the ball whose position i in the tree is at least `from`.
  template <class Each> void visit(const double* query, const Each& each, Count node = 1, Count from = 0) const {
    const Count end = tree_.end(node);
    if (end <= from || squared_distance_to_box<D>(query, tree_.box(node), tree_.points.d) > outer_) return;
    if (!tree_.is_leaf(node)) return visit(query, each, 2 * node, from), visit(query, each, 2 * node + 1, from);
    for (Count i = std::max(from, tree_.begin(node)); i < end; ++i) {
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

}  // namespace kernops::neighbours
