// A balanced k-d tree without pointers. Nodes are numbered as in a heap, from 1, which is the root. The points are
// sorted such that the points of each node are contiguous.
#pragma once
#include <type_traits>
#include <vector>

#include "run/backend.h"
#include "run/huge_pages.h"

namespace kernops::neighbours {

// n points with d coordinates each, one point after another.
struct Points {
  LargeVector<double> at;
  Count n;
  int d;
  const double* operator[](Count i) const { return at.data() + i * d; }
};

struct KdTree {
  // Leaves have about `leaf` points, which are in the order of their rows.
  KdTree(Points unsorted, Count leaf, const Settings& settings);

  bool is_leaf(Count node) const { return node >= leaves; }
  // The positions of a node's points, begin .. end - 1. The nodes of a level have nearly equal numbers of points.
  Count begin(Count node) const { return share(node, 0); }
  Count end(Count node) const { return share(node, 1); }
  const double* box(Count node) const { return boxes.data() + 2 * points.d * node; }

  Points points;              // in the order of the tree
  LargeVector<int> row;       // the row of each point in the unsorted data
  Count leaves;               // number of leaves, a power of two
  int depth;                  // logarithm of the number of leaves
  LargeVector<double> boxes;  // for each node: the minima of all coordinates, then the maxima

 private:
  Count share(Count node, Count further) const {
    int level = depth;
    while ((Count(1) << level) > node) --level;
    return (points.n * (node - (Count(1) << level) + further)) >> level;
  }
};

// The squared distance of two points, or of a point and a box, for D coordinates or, if D is 0, for d coordinates. The
// distance to a box is at most the distance to each point in the box, even with rounding, because both distances are
// sums over the coordinates in the same order.
template <int D> double squared_distance(const double* a, const double* b, int d) {
  double sum = 0;
  for (int k = 0; k < (D ? D : d); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}
template <int D> double squared_distance_to_box(const double* a, const double* box, int d) {
  double sum = 0;
  const int size = D ? D : d;
  for (int k = 0; k < size; ++k) {
    const double below = box[k] - a[k], above = a[k] - box[size + k], outside = below > above ? below : above;
    if (outside > 0) sum += outside * outside;
  }
  return sum;
}
// The squared distance of two boxes, a lower bound of the squared distances between their points.
inline double box_distance(const double* a, const double* b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) {
    const double below = b[k] - a[d + k], above = a[k] - b[d + k], outside = below > above ? below : above;
    if (outside > 0) sum += outside * outside;
  }
  return sum;
}

// Calls work(D), where D is the number of coordinates as a compile-time constant if it is small, otherwise 0.
template <class Work> void with_dimension(int d, const Work& work) {
  switch (d) {
    case 1: return work(std::integral_constant<int, 1>());
    case 2: return work(std::integral_constant<int, 2>());
    case 3: return work(std::integral_constant<int, 3>());
    default: return work(std::integral_constant<int, 0>());
  }
}

}  // namespace kernops::neighbours
