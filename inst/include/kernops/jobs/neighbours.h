// A search for the nearest points of a tree (src/neighbours/neighbours.h), as the kernels of cuda/neighbours read it.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The nodes of the tree above those with at most 32 points, numbered as in a heap.
struct TreeJob {
  const double *points, *boxes;  // d coordinates of each point; of each node the least, then the greatest coordinates
  const int *position, *least;   // of each point; the least of each node
  long long n;
  int d, levels;  // levels below the root; 2^levels nodes are leaves
};

struct NearestPointsJob {
  TreeJob tree;
  const double* queries;
  const int *limits, *places;  // null: all points; in the order of queries
  long long first, end;        // queries of this launch
  int most;
  int* to;  // `most` positions from 1 of each query
};

constexpr int nearest_points_warps = 4;  // a block has one warp for each query

}  // namespace kernops
