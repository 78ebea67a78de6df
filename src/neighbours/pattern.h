// Second-order sums of a point pattern in a rectangle of the plane.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

enum class EdgeCorrection { none, translation, isotropic };

struct Rectangle {
  double low[2], high[2];
};

// The pairs of a query and a point of the tree. `queries` has `count` points, one after another. If it is null, the
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

// Computes a sum for each r[k]. Without a bandwidth, this is the sum of the weights of the pairs with a distance of at
// most r[k]; with a bandwidth, it is the sum of the weights times the kernel at (r[k] - distance).
std::vector<double> pattern_sums(const PatternRequest& request, const Settings& settings);

}  // namespace kernops::neighbours
