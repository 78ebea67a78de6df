// All points of a tree within a radius of queries.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

struct Within {
  int row;  // row of a point, from 0
  double distance;
};

// The points within `radius` of each query, by row: `count` queries of d coordinates, one after another. Query i
// excludes row skip[i], if `skip` is given.
std::vector<std::vector<Within>> find_within(const KdTree& tree, const double* queries, Count count, double radius,
                                             const int* skip, const Settings& settings);
// The number of points within `radius` of each query.
std::vector<double> count_within(const KdTree& tree, const double* queries, Count count, double radius, const int* skip,
                                 const Settings& settings);

}  // namespace kernops::neighbours
