// The distance of each point of a k-d tree to the nearest point chosen so far, and the farthest point of each node.
// Choosing a point decreases the distances in only few nodes.
#pragma once
#include <algorithm>
#include <cmath>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

struct Farthest {
  double distance;  // squared distance to the nearest chosen point
  int point;        // index of the point in the tree
};

template <int D> class FarthestTree {
 public:
  explicit FarthestTree(const KdTree& tree)
      : tree(tree),
        distance_(size_t(tree.points.n), HUGE_VAL),
        farthest_(size_t(2 * tree.leaves), Farthest{HUGE_VAL, 0}) {}

  // Returns the farthest point of a node.
  const Farthest& of(Count node) const { return farthest_[size_t(node)]; }

  // Returns whether a comes before b: a is farther away or, at the same distance, in an earlier row.
  bool before(const Farthest& a, const Farthest& b) const {
    return a.distance > b.distance ||
           (a.distance == b.distance && tree.row[size_t(a.point)] < tree.row[size_t(b.point)]);
  }

  // Updates the distances in a node and its children after a point was chosen.
  void choose(Count node, const double* chosen) {
    if (tree.is_leaf(node)) return choose_in_leaf(node, chosen);
    for (Count child : {2 * node, 2 * node + 1})
      if (squared_distance_to_box<D>(chosen, tree.box(child), tree.points.d) < of(child).distance)
        choose(child, chosen);
    farthest_[size_t(node)] = before(of(2 * node), of(2 * node + 1)) ? of(2 * node) : of(2 * node + 1);
  }

  const KdTree& tree;

 private:
  void choose_in_leaf(Count node, const double* chosen) {
    Farthest farthest{-1, 0};
    for (Count i = tree.begin(node), end = tree.end(node); i < end; ++i) {
      double& distance = distance_[size_t(i)];
      distance = std::min(distance, squared_distance<D>(tree.points[i], chosen, tree.points.d));
      if (before({distance, int(i)}, farthest)) farthest = {distance, int(i)};
    }
    farthest_[size_t(node)] = farthest;
  }

  LargeVector<double> distance_;
  LargeVector<Farthest> farthest_;
};

}  // namespace kernops::neighbours
