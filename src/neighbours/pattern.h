// Second-order sums of a pattern of points in a rectangle of the plane.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

enum class EdgeCorrection { none, translation, isotropic };

struct Rectangle {
  double low[2], high[2];
};

// Pairs of a query and a point of the tree. `queries` are `count` points, one after another. Without `queries`, the
// points of the tree are the queries, and no point is paired with itself.
struct PatternRequest {
  const KdTree& tree;
  const double* queries;
  Count count;
  const std::vector<double>& r;  // ascending
  EdgeCorrection correction;
  Rectangle window;
  double bandwidth;  // half the width of Epanechnikov's kernel; 0 for cumulative sums
};

// The sum of the weights of the pairs at distance at most r[k], or with a bandwidth the sum of their weights times the
// kernel at r[k] minus the distance.
std::vector<double> pattern_sums(const PatternRequest& request, const Settings& settings);

}  // namespace kernops::neighbours
