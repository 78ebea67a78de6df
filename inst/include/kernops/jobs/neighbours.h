// The arguments of a search for the nearest points in a k-d tree (src/neighbours/neighbours.h), for the kernels of
// cuda/neighbours.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The upper levels of a k-d tree. The leaves are nodes with at most 32 points. Nodes are numbered as in a heap.
struct TreeJob {
  // points: d coordinates of each point. boxes: for each node, the minimum of each coordinate, and then the maximum.
  const double *points, *boxes;
  const int *position, *least;  // position of each point in the ordering; smallest position in each node
  long long n;
  int d, levels;  // levels: number of levels below the root; the tree has 2^levels leaves
};

struct NearestPointsJob {
  TreeJob tree;
  const double* queries;
  // limits: a query finds only points at positions below limits[query]; null: all points. places: the row of `to` of
  // each query; null: the order of the queries
  const int *limits, *places;
  long long first, end;  // this launch processes the queries first .. end - 1
  int most;
  int* to;  // results: `most` positions (from 1) for each query
};

constexpr int nearest_points_warps = 4;  // a block has one warp per query

}  // namespace kernops
