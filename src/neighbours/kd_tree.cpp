// Building a kd-tree: from the root down, the points of each node are divided into equal halves by the coordinate that
// varies most, equal ones by row. All threads work on one node of the upper levels together; below, each thread takes
// the next subtree. Halves keep the order of the points, so that the tree does not depend on the number of threads.
#include "neighbours/kd_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

constexpr Count piece = 1 << 14;     // points of a unit of work of the upper levels, and the most of a subtree
constexpr Count counted_from = 512;  // points of a node from which its values are counted before they are compared
constexpr int bins = 1024;

// A value that a node is divided at, and the row that decides among equal values.
struct Key {
  double value;
  int row;
  // Without branches: half of the keys of a node are less than its middle.
  bool operator<(const Key& other) const {
    return (value < other.value) | ((value == other.value) & (row < other.row));
  }
};

// Points and their rows: the points of a level, or those of the next one.
struct Sorted {
  std::vector<double>& at;
  std::vector<int>& row;
};

// Bins of values between `low` and `high`. Rounding preserves their order.
struct Bins {
  Bins(double low, double high) : low(low), scale(bins / (high - low)) {}
  bool separate() const { return std::isfinite(scale); }
  int operator()(double value) const { return std::min(bins - 1, int((value - low) * scale)); }
  const double low, scale;
};

template <int D> class Builder {
 public:
  Builder(KdTree& tree, Sorted from, Sorted to, const Settings& settings)
      : tree_(tree), d_(D ? D : tree.points.d), settings_(settings), levels_{from, to} {}

  void build() {
    Count level = 1;
    int depth = 0;
    for (; level < tree_.leaves && tree_.points.n > piece * level; level *= 2, ++depth)
      for (Count node = level; node < 2 * level; ++node)
        split(node, depth, [&](Count pieces, const auto& work) {
          parallel_for(pieces, std::min<Count>(settings_.threads, pieces), settings_,
                       [&](Count unit, Count) { work(unit); });
        });
    parallel_for(level, std::min<Count>(settings_.threads, level), settings_,
                 [&](Count unit, Count) { build_below(level + unit, depth); });
  }

 private:
  void build_below(Count node, int depth) {
    split(node, depth, [](Count pieces, const auto& work) {
      for (Count p = 0; p < pieces; ++p) work(p);
    });
    if (tree_.is_leaf(node)) return;
    build_below(2 * node, depth + 1);
    build_below(2 * node + 1, depth + 1);
  }

  // each(count, work) runs work(p) for the pieces p of the points of a node.
  template <class Each> void split(Count node, int depth, const Each& each) {
    const Sorted &from = levels_[depth % 2], &to = levels_[1 - depth % 2];
    const Count begin = tree_.begin(node), end = tree_.end(node),
                pieces = std::max<Count>(1, ceil_div(end - begin, piece));
    const auto in_pieces = [&](const auto& work) {
      each(pieces, [&](Count p) { work(p, begin + p * piece, std::min(end, begin + (p + 1) * piece)); });
    };
    bound(node, from, pieces, in_pieces);
    if (tree_.is_leaf(node)) return;
    const int widest = widest_of(node);
    const Key middle = key_at(tree_.end(2 * node) - begin, node, from, widest, pieces, in_pieces);
    const auto is_left = [&](Count i) { return Key{from.at[size_t(i * d_ + widest)], from.row[size_t(i)]} < middle; };
    std::vector<Count> left(static_cast<size_t>(pieces));
    in_pieces([&](Count p, Count first, Count last) {
      Count count = 0;
      for (Count i = first; i < last; ++i) count += is_left(i);
      left[size_t(p)] = count;
    });
    Count sum = begin;
    for (Count& count : left) count = std::exchange(sum, sum + count);
    in_pieces([&](Count p, Count first, Count last) {
      Count place[2] = {tree_.end(2 * node) + first - left[size_t(p)],
                        left[size_t(p)]};  // of a right one, of a left one
      for (Count i = first; i < last; ++i) put(from, i, to, place[is_left(i)]++);
    });
  }

  void put(const Sorted& from, Count i, const Sorted& to, Count place) const {
    to.row[size_t(place)] = from.row[size_t(i)];
    for (int k = 0; k < d_; ++k) to.at[size_t(place * d_ + k)] = from.at[size_t(i * d_ + k)];
  }

  template <class InPieces> void bound(Count node, const Sorted& from, Count pieces, const InPieces& in_pieces) {
    double* const box = tree_.boxes.data() + 2 * d_ * node;
    std::vector<double> parts(static_cast<size_t>(2 * d_ * pieces));
    in_pieces([&](Count p, Count first, Count last) {
      double *const low = parts.data() + 2 * d_ * p, *const high = low + d_;
      std::fill_n(low, d_, HUGE_VAL), std::fill_n(high, d_, -HUGE_VAL);
      for (Count i = first; i < last; ++i) extend(low, from.at.data() + i * d_, from.at.data() + i * d_);
    });
    std::fill_n(box, d_, HUGE_VAL), std::fill_n(box + d_, d_, -HUGE_VAL);
    for (Count p = 0; p < pieces; ++p) extend(box, parts.data() + 2 * d_ * p, parts.data() + 2 * d_ * p + d_);
  }

  void extend(double* box, const double* low, const double* high) const {
    for (int k = 0; k < d_; ++k) box[k] = std::min(box[k], low[k]), box[d_ + k] = std::max(box[d_ + k], high[k]);
  }

  int widest_of(Count node) const {
    const double *const low = tree_.box(node), *const high = low + d_;
    int widest = 0;
    for (int k = 1; k < d_; ++k)
      if (high[k] - low[k] > high[widest] - low[widest]) widest = k;
    return widest;
  }

  // The key of a node with `before` keys before it. Those of many points are counted in bins, of which one is sorted.
  template <class InPieces>
  Key key_at(Count before, Count node, const Sorted& from, int widest, Count pieces, const InPieces& in_pieces) const {
    const Bins bin(tree_.box(node)[widest], tree_.box(node)[d_ + widest]);
    const bool counted = bin.separate() && tree_.end(node) - tree_.begin(node) >= counted_from;
    const auto value = [&](Count i) { return from.at[size_t(i * d_ + widest)]; };
    int chosen = 0;
    if (counted) {
      std::vector<int> counts(static_cast<size_t>(pieces * bins));
      in_pieces([&](Count p, Count first, Count last) {
        for (Count i = first; i < last; ++i) ++counts[size_t(p * bins + bin(value(i)))];
      });
      for (;; ++chosen) {
        Count count = 0;
        for (Count p = 0; p < pieces; ++p) count += counts[size_t(p * bins + chosen)];
        if (count > before) break;
        before -= count;
      }
    }
    std::vector<std::vector<Key>> keys(static_cast<size_t>(pieces));
    in_pieces([&](Count p, Count first, Count last) {
      for (Count i = first; i < last; ++i)
        if (!counted || bin(value(i)) == chosen) keys[size_t(p)].push_back({value(i), from.row[size_t(i)]});
    });
    std::vector<Key>& all = keys[0];
    for (Count p = 1; p < pieces; ++p) all.insert(all.end(), keys[size_t(p)].begin(), keys[size_t(p)].end());
    std::nth_element(all.begin(), all.begin() + before, all.end());
    return all[size_t(before)];
  }

  KdTree& tree_;
  const int d_;
  const Settings& settings_;
  const Sorted levels_[2];
};

}  // namespace

KdTree::KdTree(Points unsorted, Count leaf, const Settings& settings) : row(size_t(unsorted.n)), leaves(1), depth(0) {
  points.n = unsorted.n, points.d = unsorted.d;
  points.at.resize(unsorted.at.size());
  for (; leaves * leaf < points.n; leaves *= 2) ++depth;
  boxes.resize(size_t(4 * leaves * points.d));
  std::vector<int> rows(row.size());
  const Sorted result{points.at, row}, other{unsorted.at, rows};
  if (depth % 2 == 0) points.at.swap(unsorted.at);
  std::vector<int>& first = depth % 2 == 0 ? row : rows;
  for (Count i = 0; i < points.n; ++i) first[size_t(i)] = int(i);
  with_dimension(points.d, [&](auto D) {
    Builder<D.value>(*this, depth % 2 == 0 ? result : other, depth % 2 == 0 ? other : result, settings).build();
  });
}

}  // namespace kernops::neighbours
