#include <numeric>

#include "neighbours/tree_builder.h"

namespace kernops::neighbours {

KdTree::KdTree(Points unsorted, Count leaf, const Settings& settings) : row(size_t(unsorted.n)), leaves(1), depth(0) {
  points.n = unsorted.n, points.d = unsorted.d;
  points.at.resize(unsorted.at.size());
  for (; leaves * leaf < points.n; leaves *= 2) ++depth;
  boxes.resize(size_t(4 * leaves * points.d));
  LargeVector<int> rows(row.size());
  const Sorted result{points.at, row}, other{unsorted.at, rows};
  if (depth % 2 == 0) points.at.swap(unsorted.at);
  LargeVector<int>& first = depth % 2 == 0 ? row : rows;
  std::iota(first.begin(), first.end(), 0);
  with_dimension(points.d, [&](auto D) {
    TreeBuilder<D.value>(*this, depth % 2 == 0 ? result : other, depth % 2 == 0 ? other : result, settings).build();
  });
}

}  // namespace kernops::neighbours
