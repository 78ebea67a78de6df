// The max-min ordering. Each point has its distance to those chosen so far, each node of a kd-tree the farthest of its
// points: the root has the next one, which is nearer than those chosen before to points in few nodes only.
#include <algorithm>
#include <cmath>

#include "neighbours/neighbours.h"

namespace kernops::neighbours {

namespace {

struct Farthest {
  double distance;
  int point;  // of the tree
};

template <int D> class MaxMin {
 public:
  MaxMin(const Points& points, const Settings& settings)
      : tree_(points, 8, settings),
        distance_(size_t(points.n), HUGE_VAL),
        farthest_(size_t(2 * tree_.leaves), Farthest{HUGE_VAL, 0}) {}

  std::vector<int> order(const Settings& settings) {
    const Count n = tree_.points.n;
    std::vector<int> chosen;
    chosen.reserve(size_t(n));
    std::vector<bool> taken(size_t(n), false);
    for (Farthest next{HUGE_VAL, central()}; next.distance > 0; next = farthest_[1]) {
      chosen.push_back(tree_.row[size_t(next.point)]);
      taken[size_t(chosen.back())] = true;
      choose(1, tree_.points[next.point]);
      if (chosen.size() % 1024 == 0 && settings.keep_going && !settings.keep_going(double(chosen.size()) / double(n)))
        throw Interrupted();
    }
    for (Count i = 0; i < n; ++i)
      if (!taken[size_t(i)]) chosen.push_back(int(i));
    return chosen;
  }

 private:
  // The point nearest to the mean.
  int central() const {
    const Points& points = tree_.points;
    std::vector<double> mean(size_t(points.d), 0.0);
    for (Count i = 0; i < points.n; ++i)
      for (int k = 0; k < points.d; ++k) mean[size_t(k)] += (points[i][k] - mean[size_t(k)]) / double(i + 1);
    Farthest nearest{HUGE_VAL, 0};
    for (int i = 0; i < points.n; ++i) {
      const double distance = squared_distance<D>(points[i], mean.data(), points.d);
      if (before(-distance, i, -nearest.distance, nearest.point)) nearest = {distance, i};
    }
    return nearest.point;
  }

  bool before(double distance, int point, double other, int other_point) const {
    return distance > other || (distance == other && tree_.row[size_t(point)] < tree_.row[size_t(other_point)]);
  }

  void choose(Count node, const double* chosen) {
    if (tree_.is_leaf(node)) return choose_in_leaf(node, chosen);
    for (Count child : {2 * node, 2 * node + 1})
      if (squared_distance_to_box<D>(chosen, tree_.box(child), tree_.points.d) < farthest_[size_t(child)].distance)
        choose(child, chosen);
    const Farthest &left = farthest_[size_t(2 * node)], &right = farthest_[size_t(2 * node + 1)];
    farthest_[size_t(node)] = before(left.distance, left.point, right.distance, right.point) ? left : right;
  }

  void choose_in_leaf(Count node, const double* chosen) {
    Farthest farthest{-1, 0};
    for (Count i = tree_.begin(node), end = tree_.end(node); i < end; ++i) {
      double& distance = distance_[size_t(i)];
      distance = std::min(distance, squared_distance<D>(tree_.points[i], chosen, tree_.points.d));
      if (before(distance, int(i), farthest.distance, farthest.point)) farthest = {distance, int(i)};
    }
    farthest_[size_t(node)] = farthest;
  }

  KdTree tree_;
  std::vector<double> distance_;
  std::vector<Farthest> farthest_;
};

}  // namespace

std::vector<int> maxmin_order(const Points& points, const Settings& settings) {
  std::vector<int> order;
  with_dimension(points.d, [&](auto D) { order = MaxMin<D.value>(points, settings).order(settings); });
  return order;
}

}  // namespace kernops::neighbours
