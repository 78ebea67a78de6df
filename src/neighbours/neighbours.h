// The ordering of points for Vecchia approximations, and searches for nearest neighbours.
#pragma once
#include <memory>
#include <vector>

#include "neighbours/kd_tree.h"
#include "run/backend_cache.h"

namespace kernops::neighbours {

// The number of points per leaf of trees that are used for orderings and searches.
constexpr Count leaf_size = 8;

// Computes the exact max-min ordering (greedy permutation) of the points of a tree. The first point is the nearest to
// the mean, and each further point is the one that is farthest from all earlier points. At equal distances, the point
// with the smaller row comes first. Duplicates come last, by row.
std::vector<int> maxmin_order(const KdTree& tree, const Settings& settings);

// The position of each point of a tree in an ordering.
struct Positions {
  // `order` has the row of each position, from 1; if it is null, points are ordered by row. Throws InputError if
  // `order` is not a permutation.
  Positions(const KdTree& tree, const int* order, const Settings& settings);

  LargeVector<int> point;  // position of each point of the tree, from 0
  LargeVector<int> least;  // smallest position among the points of each node
};

// A search in a tree for the nearest points of each query.
struct Request {
  const KdTree& tree;
  const Positions& positions;
  const double* queries;  // d coordinates of each query, one query after another
  Count count;
  const int* limits;  // only positions below the limit of a query are searched; null: all points
  const int* places;  // the index of each query's result; null: results are in the order of the queries
  int most;           // number of points to find
  const Settings& settings;
  std::shared_ptr<BackendCache>* kept;  // a GPU's copy of the tree
};

// Finds the `most` nearest points of each query and writes their positions, from 1, to `to`, which has `most` numbers
// for each query. The nearest point comes first and, at equal distances, the point with the smaller position. If there
// are fewer points, the list ends with zeros.
void find_nearest(const Request& request, int* to);

}  // namespace kernops::neighbours
