// Points in space: the order of a Vecchia approximation, and nearest neighbours.
#pragma once
#include <memory>
#include <vector>

#include "neighbours/kd_tree.h"
#include "run/backend_cache.h"

namespace kernops::neighbours {

// Points of a leaf of a tree that serves orderings and searches.
constexpr Count leaf_size = 8;

// Rows of the points of a tree such that each is farthest from those before it, beginning with the one nearest to the
// mean: the greedy permutation, exactly. At equal distances, the smaller row comes first; duplicates come last, by row.
std::vector<int> maxmin_order(const KdTree& tree, const Settings& settings);

// The positions of the points of a tree in an order.
struct Positions {
  // `order` has the row of each position, from 1; without it, a position is a row. Throws InputError unless it is a
  // permutation.
  Positions(const KdTree& tree, const int* order, const Settings& settings);

  LargeVector<int> point;  // from 0, of each point of the tree
  LargeVector<int> least;  // of the points of each node
};

// Searches for nearest points of a tree, each for a query.
struct Request {
  const KdTree& tree;
  const Positions& positions;
  const double* queries;  // d coordinates of each, one after another
  Count count;
  const int* limits;  // only points at positions before this one; null: all points
  const int* places;  // the place of each query's result; null: in their order
  int most;           // points that are searched
  const Settings& settings;
  std::shared_ptr<BackendCache>* kept;  // a GPU's copy of the tree
};

// For each query, the positions from 1 of the `most` nearest points, the nearest first and of equal distances the
// smaller position first; 0 where there are fewer. `to` has `most` numbers for each query.
void find_nearest(const Request& request, int* to);

}  // namespace kernops::neighbours
