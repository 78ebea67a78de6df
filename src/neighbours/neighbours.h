// Points in space: the order of a Vecchia approximation, and nearest neighbours.
#pragma once
#include <memory>
#include <vector>

#include "neighbours/kd_tree.h"
#include "run/backend_cache.h"

namespace kernops::neighbours {

// Points per leaf of a tree that serves orderings and searches.
constexpr Count leaf_size = 8;

// The exact max-min ordering (greedy permutation) of the points of a tree: the first point is the nearest to the mean,
// and each further point is the one that is farthest from all earlier points. At equal distances, the smaller row comes
// first; duplicates come last, by row.
std::vector<int> maxmin_order(const KdTree& tree, const Settings& settings);

// The positions of the points of a tree in an order.
struct Positions {
  // `order` is the row of each position, from 1; without an order, positions are rows. Throws InputError unless `order`
  // is a permutation.
  Positions(const KdTree& tree, const int* order, const Settings& settings);

  LargeVector<int> point;  // position from 0 of each point of the tree
  LargeVector<int> least;  // smallest position of the points of each node
};

// A search for the nearest points of each query in a tree.
struct Request {
  const KdTree& tree;
  const Positions& positions;
  const double* queries;  // d coordinates of each query, one query after another
  Count count;
  const int* limits;  // the result of a query contains only positions below its limit; null: all points
  const int* places;  // the index of each query's result; null: the order of the queries
  int most;           // number of points to find
  const Settings& settings;
  std::shared_ptr<BackendCache>* kept;  // the GPU's copy of the tree
};

// Finds, for each query, the positions from 1 of the `most` nearest points. The nearest point comes first and, at equal
// distances, the smaller position; the list ends with 0 if there are fewer points. `to` has `most` numbers for each
// query.
void find_nearest(const Request& request, int* to);

}  // namespace kernops::neighbours
