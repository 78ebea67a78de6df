// Nearest neighbours by a kd-tree of all points. For those among earlier points only, each node has the smallest
// position of its points, so that a search enters no node that is later as a whole.
#include <algorithm>
#include <cmath>

#include "neighbours/neighbours.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

constexpr Count leaf_size = 8;

// The nearest so far, sorted; `most` of them from the start, at an infinite distance.
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
  Search(const KdTree& tree, const std::vector<int>& first, int most) : tree_(tree), first_(first), nearest_(most) {}

  // Searches the points before `limit`.
  void run(const double* query, int limit, int* found) {
    query_ = query, limit_ = limit;
    nearest_.clear();
    visit(1);
    nearest_.write(found);
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

  double distance(Count node) const {
    return first_[size_t(node)] < limit_ ? squared_distance_to_box<D>(query_, tree_.box(node), tree_.points.d)
                                         : HUGE_VAL;
  }

  // One at the same distance may have a smaller position.
  void enter(Count node, double distance) {
    if (first_[size_t(node)] < limit_ && distance <= nearest_.worst()) visit(node);
  }

  void visit_leaf(Count node) {
    for (Count i = tree_.begin(node), end = tree_.end(node); i < end; ++i) {
      const int position = tree_.row[size_t(i)];
      if (position >= limit_) continue;
      nearest_.offer(squared_distance<D>(query_, tree_.points[i], tree_.points.d), position + 1);
    }
  }

  const KdTree& tree_;
  const std::vector<int>& first_;
  Nearest nearest_;
  const double* query_ = nullptr;
  int limit_ = 0;
};

std::vector<int> first_positions(const KdTree& tree) {
  std::vector<int> first(size_t(2 * tree.leaves));
  for (Count node = 2 * tree.leaves - 1; node > 0; --node)
    first[size_t(node)] =
        tree.is_leaf(node) ? *std::min_element(tree.row.begin() + tree.begin(node), tree.row.begin() + tree.end(node))
                           : std::min(first[size_t(2 * node)], first[size_t(2 * node + 1)]);
  return first;
}

}  // namespace

SearchTree::SearchTree(const Points& points, const Settings& settings)
    : tree_(points, leaf_size, settings), first_(points.n > 0 ? first_positions(tree_) : std::vector<int>()) {}

// query(search, i) for each of n, some at a time.
template <class Query>
void SearchTree::search_each(Count n, int most, const Settings& settings, const Query& query) const {
  constexpr Count unit = 512;
  if (tree_.points.n == 0 || most == 0) return;
  with_dimension(tree_.points.d, [&](auto D) {
    parallel_for(ceil_div(n, unit), settings.threads, settings, [&](Count begin, Count) {
      Search<D.value> search(tree_, first_, most);
      for (Count i = begin * unit; i < std::min(n, (begin + 1) * unit); ++i) query(search, i);
    });
  });
}

// In the order of the tree, in which one search finds in the cache what that before it has read.
void SearchTree::earlier(int most, const Settings& settings, int* found) const {
  search_each(tree_.points.n, most, settings, [&](auto& search, Count i) {
    const int position = tree_.row[size_t(i)];
    search.run(tree_.points[i], position, found + Count(position) * most);
  });
}

void SearchTree::earlier(const Points& points, const int* some, Count count, int most, const Settings& settings,
                         int* found) const {
  search_each(count, most, settings,
              [&](auto& search, Count i) { search.run(points[some[i] - 1], some[i] - 1, found + i * most); });
}

void SearchTree::nearest(const Points& queries, int most, const Settings& settings, int* found) const {
  if (tree_.points.n == 0) std::fill_n(found, queries.n * most, 0);
  search_each(queries.n, most, settings,
              [&](auto& search, Count i) { search.run(queries[i], int(tree_.points.n), found + i * most); });
}

}  // namespace kernops::neighbours
