// Second-order sums of a point pattern in a rectangle of the plane.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

enum class EdgeCorrection { none, translation, isotropic };

struct Rectangle {
  double low[2], high[2];
};

// A request of sums over the pairs of a query and a point of the tree. `queries` has `count` points, one after another.
// If it is null, the points of the tree are the queries, and no point is paired with itself.
struct PatternRequest {
  const KdTree& tree;
  const double* queries;
  Count count;
  const std::vector<double>& r;  // ascending
  EdgeCorrection correction;
  Rectangle window;
  double bandwidth;  // half the width of Epanechnikov's kernel; 0 for cumulative sums
};

// Computes a sum over pairs for each r[k]. Without a bandwidth, the weights of the pairs with a distance of at most
// r[k] are added. With a bandwidth, the weight of each pair is multiplied by the kernel at r[k] - distance, and the
// products are added.
std::vector<double> pattern_sums(const PatternRequest& request, const Settings& settings);

}  // namespace kernops::neighbours
