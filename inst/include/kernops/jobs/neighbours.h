// A search for the nearest points of a tree (src/neighbours/neighbours.h), as the kernels of cuda/neighbours read it.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The upper levels of a tree: nodes with at most 32 points are its leaves; nodes are numbered as in a heap.
struct TreeJob {
  // d coordinates of each point; for each node, the minimum of each coordinate, then the maximum
  const double *points, *boxes;
  const int *position, *least;  // position of each point; smallest position of each node
  long long n;
  int d, levels;  // levels: number of levels below the root; 2^levels nodes are leaves
};

struct NearestPointsJob {
  TreeJob tree;
  const double* queries;
  const int *limits, *places;  // limits null: all points are searched; places null: results in the order of queries
  long long first, end;        // this launch processes queries first .. end - 1
  int most;
  int* to;  // `most` positions, from 1, for each query
};

constexpr int nearest_points_warps = 4;  // a block has one warp per query

}  // namespace kernops
