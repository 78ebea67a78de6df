// Points in space: the order of a Vecchia approximation, and nearest neighbours.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

// Rows of the points such that each is farthest from those before it, beginning with the one nearest to the mean: the
// greedy permutation, exactly. Of equal distances, the smaller row is first; duplicates come last, by row.
std::vector<int> maxmin_order(const Points& points, const Settings& settings);

// For each point, the positions from 1 of the `most` nearest among those before it, the nearest first and of equal
// distances the smaller position first; 0 where there are fewer. `found` has `most` numbers for each point.
void earlier_neighbours(const Points& points, int most, const Settings& settings, int* found);

// The same for points that are not among them, of all points.
void nearest_points(const Points& queries, const Points& points, int most, const Settings& settings, int* found);

}  // namespace kernops::neighbours
