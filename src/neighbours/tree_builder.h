// Builds a k-d tree from the root down. The points of a node are sorted by the coordinate with the largest range (equal
// values by row) and divided into two halves of equal size. On the upper levels, all threads divide the nodes of a
// level together; on lower levels, each thread builds whole subtrees. Within a half, points keep their order, so that
// the tree does not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "neighbours/kd_tree.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

// number of points of a piece on the upper levels; maximum number of points of a subtree that one thread builds
constexpr Count tree_piece = 1 << 14;
// nodes with at least this number of points are divided by counting values in bins
constexpr Count counted_from = 512;
constexpr int bins = 1024;

// The value by which a point is sorted, and the row that decides between equal values.
struct Key {
  double value;
  int row;
  // Compares without branches, because the result is unpredictable: half of the keys of a node are less than its
  // middle.
  bool operator<(const Key& other) const {
    return (value < other.value) | ((value == other.value) & (row < other.row));
  }
};

// Points and their rows on one level of the tree. The points of the next level are written to another object.
struct Sorted {
  LargeVector<double>& at;
  LargeVector<int>& row;
};

// Bins for values between `low` and `high`. The bin number never decreases with the value, despite rounding.
struct Bins {
  Bins(double low, double high) : low(low), scale(bins / (high - low)) {}
  bool separate() const { return std::isfinite(scale); }
  int operator()(double value) const { return std::min(bins - 1, int((value - low) * scale)); }
  double low, scale;
};

// Divides the nodes of one level. On the upper levels, threads process pieces of the points of many nodes. On lower
// levels, one thread divides a single node at a time.
template <int D> class TreeBuilder {
 public:
  TreeBuilder(KdTree& tree, Sorted from, Sorted to, const Settings& settings)
      : tree_(tree), d_(D ? D : tree.points.d), settings_(settings), levels_{from, to} {}

  void build() {
    Count level = 1;
    int depth = 0;
    for (; level < tree_.leaves && tree_.points.n > tree_piece * level; level *= 2, ++depth)
      split(level, level, depth, [&](Count units, const auto& work) {
        parallel_for(units, std::min<Count>(settings_.threads, units), settings_, [&](Count u, Count) { work(u); });
      });
    parallel_for(level, std::min<Count>(settings_.threads, level), settings_,
                 [&](Count unit, Count) { build_below(level + unit, depth); });
  }

 private:
  // A part of the points of a node, with the counts of this part.
  struct Piece {
    Count node, first, last;  // range of the points
    Count left = 0;           // number of points before the middle; later, the new index of the first of these points
    std::vector<int> counts;  // number of points in each bin
    std::vector<Key> keys;    // points in the bin that contains the middle
  };
  struct Node {
    Bins bin{0, 0};
    int widest = 0, chosen = -1;  // coordinate with the largest range; bin that contains the middle
    Count before = 0;             // number of keys before the middle in this bin or, without bins, in the node
    Key middle{0, 0};
  };

  void build_below(Count node, int depth) {
    split(node, 1, depth, [](Count units, const auto& work) {
      for (Count u = 0; u < units; ++u) work(u);
    });
    if (tree_.is_leaf(node)) return;
    build_below(2 * node, depth + 1);
    build_below(2 * node + 1, depth + 1);
  }

  // Divides `count` nodes of one level. each(units, work) must call work(unit) for all units.
  template <class Each> void split(Count first_node, Count count, int depth, const Each& each) {
    const Sorted &from = levels_[depth % 2], &to = levels_[1 - depth % 2];
    std::vector<Piece> pieces = pieces_of(first_node, count);
    const auto in_pieces = [&](const auto& work) {
      each(Count(pieces.size()), [&](Count u) { work(pieces[size_t(u)]); });
    };
    bound(pieces, from, in_pieces);
    if (tree_.is_leaf(first_node)) return;
    std::vector<Node> nodes(static_cast<size_t>(count));
    const auto node_of = [&](const Piece& piece) -> Node& { return nodes[size_t(piece.node - first_node)]; };
    for (Count k = 0; k < count; ++k) nodes[size_t(k)] = to_divide(first_node + k);
    in_pieces([&](Piece& piece) { count_values(piece, node_of(piece), from); });
    choose_bins(pieces, node_of);
    in_pieces([&](Piece& piece) { take_keys(piece, node_of(piece), from); });
    choose_middles(pieces, node_of);
    const auto is_left = [&](const Node& node, Count i) {
      return Key{from.at[size_t(i * d_ + node.widest)], from.row[size_t(i)]} < node.middle;
    };
    in_pieces([&](Piece& piece) {
      for (Count i = piece.first; i < piece.last; ++i) piece.left += is_left(node_of(piece), i);
    });
    Count sum = 0;
    for (Piece& piece : pieces) {
      if (piece.first == tree_.begin(piece.node)) sum = piece.first;
      piece.left = std::exchange(sum, sum + piece.left);
    }
    in_pieces([&](Piece& piece) {
      const Node node = node_of(piece);
      // place[0]: the next index in the right half; place[1]: the next index in the left half
      Count place[2] = {tree_.end(2 * piece.node) + piece.first - piece.left, piece.left};
      for (Count i = piece.first; i < piece.last; ++i) put(from, i, to, place[is_left(node, i)]++);
    });
  }

  std::vector<Piece> pieces_of(Count first_node, Count count) const {
    std::vector<Piece> pieces;
    for (Count node = first_node; node < first_node + count; ++node) {
      const Count begin = tree_.begin(node), end = tree_.end(node);
      Count first = begin;
      do {
        pieces.push_back({node, first, std::min(end, first + tree_piece)});
        first += tree_piece;
      } while (first < end);
    }
    return pieces;
  }

  void put(const Sorted& from, Count i, const Sorted& to, Count place) const {
    to.row[size_t(place)] = from.row[size_t(i)];
    for (int k = 0; k < d_; ++k) to.at[size_t(place * d_ + k)] = from.at[size_t(i * d_ + k)];
  }

  // Computes the boxes of nodes from the boxes of their pieces.
  template <class InPieces> void bound(std::vector<Piece>& pieces, const Sorted& from, const InPieces& in_pieces) {
    std::vector<double> boxes(2 * size_t(d_) * pieces.size());
    in_pieces([&](Piece& some) {
      double* const box = boxes.data() + 2 * d_ * (&some - pieces.data());
      empty(box);
      for (Count i = some.first; i < some.last; ++i) extend(box, from.at.data() + i * d_, from.at.data() + i * d_);
    });
    for (size_t p = 0; p < pieces.size(); ++p) {
      double* const box = tree_.boxes.data() + 2 * d_ * pieces[p].node;
      if (p == 0 || pieces[p].node != pieces[p - 1].node) empty(box);
      extend(box, boxes.data() + 2 * size_t(d_) * p, boxes.data() + 2 * size_t(d_) * p + d_);
    }
  }

  void empty(double* box) const { std::fill_n(box, d_, HUGE_VAL), std::fill_n(box + d_, d_, -HUGE_VAL); }
  void extend(double* box, const double* low, const double* high) const {
    for (int k = 0; k < d_; ++k) box[k] = std::min(box[k], low[k]), box[d_ + k] = std::max(box[d_ + k], high[k]);
  }

  // Prepares the division of a node: chooses the coordinate, and the method. The values of large nodes are counted in
  // bins, so that the middle is selected among the keys of one bin only; the middle of a small node is selected among
  // all of its keys.
  Node to_divide(Count number) const {
    const double *const low = tree_.box(number), *const high = low + d_;
    Node node;
    for (int k = 1; k < d_; ++k)
      if (high[k] - low[k] > high[node.widest] - low[node.widest]) node.widest = k;
    node.bin = Bins(low[node.widest], high[node.widest]);
    node.before = tree_.end(2 * number) - tree_.begin(number);
    if (node.bin.separate() && tree_.end(number) - tree_.begin(number) >= counted_from) node.chosen = 0;
    return node;
  }

  void count_values(Piece& piece, const Node& node, const Sorted& from) const {
    if (node.chosen < 0) return;
    piece.counts.resize(bins);
    for (Count i = piece.first; i < piece.last; ++i)
      ++piece.counts[size_t(node.bin(from.at[size_t(i * d_ + node.widest)]))];
  }

  template <class NodeOf> void choose_bins(const std::vector<Piece>& pieces, const NodeOf& node_of) const {
    for (size_t p = 0, end = 0; p < pieces.size(); p = end) {
      Node& node = node_of(pieces[p]);
      while (end < pieces.size() && pieces[end].node == pieces[p].node) ++end;
      if (node.chosen < 0) continue;
      for (;; ++node.chosen) {
        Count count = 0;
        for (size_t k = p; k < end; ++k) count += pieces[k].counts[size_t(node.chosen)];
        if (count > node.before) break;
        node.before -= count;
      }
    }
  }

  void take_keys(Piece& piece, const Node& node, const Sorted& from) const {
    for (Count i = piece.first; i < piece.last; ++i) {
      const double value = from.at[size_t(i * d_ + node.widest)];
      if (node.chosen < 0 || node.bin(value) == node.chosen) piece.keys.push_back({value, from.row[size_t(i)]});
    }
  }

  template <class NodeOf> void choose_middles(std::vector<Piece>& pieces, const NodeOf& node_of) const {
    for (size_t p = 0, end = 0; p < pieces.size(); p = end) {
      Node& node = node_of(pieces[p]);
      std::vector<Key>& keys = pieces[p].keys;
      for (end = p + 1; end < pieces.size() && pieces[end].node == pieces[p].node; ++end)
        keys.insert(keys.end(), pieces[end].keys.begin(), pieces[end].keys.end());
      std::nth_element(keys.begin(), keys.begin() + node.before, keys.end());
      node.middle = keys[size_t(node.before)];
    }
  }

  KdTree& tree_;
  const int d_;
  const Settings& settings_;
  const Sorted levels_[2];
};

}  // namespace kernops::neighbours
