// Nearest neighbours by a k-d tree of all points. For searches among earlier points only, each node has the smallest
// position of its points, so that a search need not enter nodes whose points are all later.
#include <algorithm>
#include <cmath>

#include "neighbours/neighbours.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

// The nearest points found so far, sorted by distance; at first, `most` entries with an infinite distance.
class Nearest {
 public:
  explicit Nearest(int most) : all_(size_t(most)) {}
  void clear() { std::fill(all_.begin(), all_.end(), Found{HUGE_VAL, 0}); }
  double worst() const { return all_.back().distance; }

  void offer(double distance, int position) {
    if (!(Found{distance, position} < all_.back())) return;
    size_t k = all_.size() - 1;
    for (; k > 0 && Found{distance, position} < all_[k - 1]; --k) all_[k] = all_[k - 1];
    all_[k] = {distance, position};
  }

  void write(int* found) const {
    for (const Found& one : all_) *found++ = one.position;
  }

 private:
  struct Found {
    double distance;
    int position;
    bool operator<(const Found& other) const {
      return distance < other.distance || (distance == other.distance && position < other.position);
    }
  };
  std::vector<Found> all_;
};

template <int D> class Search {
 public:
  Search(const KdTree& tree, const Positions& positions, int most)
      : tree_(tree), positions_(positions), nearest_(most) {}

  // Searches among the points with positions before `limit`.
  void run(const double* query, int limit, int* to) {
    query_ = query, limit_ = limit;
    nearest_.clear();
    visit(1);
    nearest_.write(to);
  }

 private:
  void visit(Count node) {
    if (tree_.is_leaf(node)) return visit_leaf(node);
    const Count left = 2 * node, right = left + 1;
    const double to_left = distance(left), to_right = distance(right);
    const bool swap = to_right < to_left;
    enter(swap ? right : left, swap ? to_right : to_left);
    enter(swap ? left : right, swap ? to_left : to_right);
  }

  bool is_later(Count node) const { return positions_.least[size_t(node)] >= limit_; }

  double distance(Count node) const {
    return is_later(node) ? HUGE_VAL : squared_distance_to_box<D>(query_, tree_.box(node), tree_.points.d);
  }

  // Enters a node even if its distance equals the largest distance found, because its points may have smaller
  // positions.
  void enter(Count node, double distance) {
    if (!is_later(node) && distance <= nearest_.worst()) visit(node);
  }

  void visit_leaf(Count node) {
    for (Count i = tree_.begin(node), end = tree_.end(node); i < end; ++i) {
      const int position = positions_.point[size_t(i)];
      if (position >= limit_) continue;
      nearest_.offer(squared_distance<D>(query_, tree_.points[i], tree_.points.d), position + 1);
    }
  }

  const KdTree& tree_;
  const Positions& positions_;
  Nearest nearest_;
  const double* query_ = nullptr;
  int limit_ = 0;
};

LargeVector<int> positions_of(const KdTree& tree, const int* order, const Settings& settings) {
  if (!order) return tree.row;
  LargeVector<int> position(tree.row.size(), -1), points(tree.row.size());
  for (size_t k = 0; k < position.size(); ++k) {
    const bool exists = order[k] >= 1 && size_t(order[k]) <= position.size();
    if (!exists || position[size_t(order[k] - 1)] >= 0) throw InputError("input", "an order is a permutation of rows");
    position[size_t(order[k] - 1)] = int(k);
  }
  in_parts(Count(points.size()), settings, [&](Count first, Count last) {
    for (Count i = first; i < last; ++i) points[size_t(i)] = position[size_t(tree.row[size_t(i)])];
  });
  return points;
}

}  // namespace

Positions::Positions(const KdTree& tree, const int* order, const Settings& settings)
    : point(positions_of(tree, order, settings)), least(size_t(2 * tree.leaves)) {
  if (tree.points.n == 0) return;
  in_parts(tree.leaves, settings, [&](Count first, Count last) {
    for (Count leaf = tree.leaves + first; leaf < tree.leaves + last; ++leaf)
      least[size_t(leaf)] = *std::min_element(point.begin() + tree.begin(leaf), point.begin() + tree.end(leaf));
  });
  for (Count node = tree.leaves - 1; node > 0; --node)
    least[size_t(node)] = std::min(least[size_t(2 * node)], least[size_t(2 * node + 1)]);
}

// Queries are processed in the order of the tree, so that the nodes which the previous search visited are in the cache.
void find_nearest(const Request& request, int* to) {
  constexpr Count unit = 512;
  const KdTree& tree = request.tree;
  const Count most = request.most, n = tree.points.n;
  if (n == 0) std::fill_n(to, request.count * most, 0);
  if (n == 0 || most == 0) return;
  with_dimension(tree.points.d, [&](auto D) {
    parallel_for(ceil_div(request.count, unit), request.settings.threads, request.settings, [&](Count begin, Count) {
      Search<D.value> search(tree, request.positions, request.most);
      for (Count i = begin * unit; i < std::min(request.count, (begin + 1) * unit); ++i)
        search.run(request.queries + i * tree.points.d, request.limits ? request.limits[i] : int(n),
                   to + (request.places ? request.places[i] : i) * most);
    });
  });
}

}  // namespace kernops::neighbours
