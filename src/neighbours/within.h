// Finds all points of a tree within a radius of each query.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

struct Within {
  int row;  // row of the point, from 0
  double distance;
};

// Returns the points within `radius` of each query, ordered by row. There are `count` queries of d coordinates, one
// after another. Unless `skip` is null, row skip[i] is not returned for query i; this row is the query itself.
std::vector<std::vector<Within>> find_within(const KdTree& tree, const double* queries, Count count, double radius,
                                             const int* skip, const Settings& settings);
// Returns the number of points within `radius` of each query.
std::vector<double> count_within(const KdTree& tree, const double* queries, Count count, double radius, const int* skip,
                                 const Settings& settings);

}  // namespace kernops::neighbours
