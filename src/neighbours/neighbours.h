// Points in space: the order of a Vecchia approximation, and nearest neighbours.
#pragma once
#include <vector>

#include "neighbours/kd_tree.h"

namespace kernops::neighbours {

// Rows of the points such that each is farthest from those before it, beginning with the one nearest to the mean: the
// greedy permutation, exactly. At equal distances, the smaller row comes first; duplicates come last, by row.
std::vector<int> maxmin_order(const Points& points, const Settings& settings);

// Points that are searched.
class SearchTree {
 public:
  SearchTree(const Points& points, const Settings& settings);

  // For each point, the positions from 1 of the `most` nearest among those before it, the nearest first and of equal
  // distances the smaller position first; 0 where there are fewer. `found` has `most` numbers for each point.
  void earlier(int most, const Settings& settings, int* found) const;
  // For some of the points, `count` positions from 1.
  void earlier(const Points& points, const int* some, Count count, int most, const Settings& settings,
               int* found) const;
  // For points that are not among them, of all points.
  void nearest(const Points& queries, int most, const Settings& settings, int* found) const;

 private:
  template <class Query> void search_each(Count n, int most, const Settings& settings, const Query& query) const;

  KdTree tree_;
  std::vector<int> first_;  // the smallest position of the points of each node
};

}  // namespace kernops::neighbours
