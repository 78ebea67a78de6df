// The max-min ordering, by several threads. Each has regions of space, nodes of the tree, and chooses the farthest
// point c of a region as soon as no region within its distance d has a point that comes before it: then none can
// change d any more. The distances of all points fall, so that it does not matter how far behind other regions are:
// sorted by distance, the points are in the order in which one thread chooses them.
#include <atomic>
#include <mutex>

#include "neighbours/farthest.h"
#include "neighbours/neighbours.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

struct Chosen {
  double distance;
  int row;
  bool operator<(const Chosen& other) const {
    return distance > other.distance || (distance == other.distance && row < other.row);
  }
};

struct Region {
  std::vector<Chosen> chosen;
  std::vector<Count> near;  // regions within `reach`
  double reach = HUGE_VAL;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::atomic<bool> done{false};
  std::mutex mutex;          // of what others read and write:
  Farthest known;            // points chosen from now on do not come before this one
  std::vector<int> arrived;  // points that were chosen near this region
};

template <int D> class MaxMin {
 public:
  explicit MaxMin(const KdTree& tree) : farthest_(tree), tree_(tree), regions_(size_t(region_count())) {}

  std::vector<Chosen> order(const Settings& settings) {
    const int first = central();
    farthest_.choose(1, tree_.points[first]);
    regions_[0].chosen.push_back({HUGE_VAL, tree_.row[size_t(first)]});
    for (Count r = 0; r < count(); ++r) regions_[size_t(r)].known = farthest_.of(node(r));
    on_threads(std::min<Count>(settings.threads, count()), [&](bool first_thread) {
      try {
        choose_all(first_thread, settings);
      } catch (...) {
        stopped_ = true;
        throw;
      }
    });
    if (stopped_) throw Interrupted();
    return merged(settings);
  }

 private:
  Count count() const { return Count(regions_.size()); }
  Count node(Count region) const { return count() + region; }

  // The number of regions, of some 16,000 points each: a power of two.
  Count region_count() const {
    Count count = 1;
    while (count < 256 && count < tree_.leaves && tree_.points.n > 16384 * count) count *= 2;
    return count;
  }

  // The point nearest to the mean.
  int central() const {
    const Points& points = tree_.points;
    std::vector<double> mean(size_t(points.d), 0.0);
    for (Count i = 0; i < points.n; ++i)
      for (int k = 0; k < points.d; ++k) mean[size_t(k)] += (points[i][k] - mean[size_t(k)]) / double(i + 1);
    Farthest nearest{-HUGE_VAL, 0};
    for (int i = 0; i < points.n; ++i) {
      const Farthest other{-squared_distance<D>(points[i], mean.data(), points.d), i};
      if (farthest_.before(other, nearest)) nearest = other;
    }
    return nearest.point;
  }

  // One region after the other, those that no other thread has.
  void choose_all(bool first_thread, const Settings& settings) {
    for (Count cycle = 0; done_ < count() && !stopped_; ++cycle) {
      bool moved = false;
      for (Count r = 0; r < count() && !stopped_; ++r) {
        Region& region = regions_[size_t(r)];
        if (region.done || region.busy.test_and_set(std::memory_order_acquire)) continue;
        moved = advance(r) || moved;
        region.busy.clear(std::memory_order_release);
      }
      if (!moved) std::this_thread::yield();
      if (first_thread && cycle % 64 == 0 && settings.keep_going &&
          !settings.keep_going(double(chosen_) / double(tree_.points.n)))
        stopped_ = true;
    }
  }

  // Chooses points of a region until one has to wait for another region; whether there were any.
  bool advance(Count r) {
    Region& region = regions_[size_t(r)];
    const size_t before = region.chosen.size();
    while (!stopped_) {
      const Farthest next = farthest_.of(node(r));
      if (!(next.distance > 0)) {
        if (!region.done.exchange(true)) ++done_;
        break;
      }
      const State state = state_of(region, r, next);
      // what is said to be done in other regions has arrived
      if (state != State::inside && take_arrived(region, r)) continue;
      if (state == State::waits) break;
      choose(region, r, next, state);
      if (region.chosen.size() % 64 == 0) publish(region, r);
    }
    publish(region, r);
    chosen_ += Count(region.chosen.size() - before);
    return region.chosen.size() > before;
  }

  // No other region is near; or some are, and their points come after it; or one comes before it.
  enum class State { inside, beside, waits };

  State state_of(Region& region, Count r, const Farthest& next) {
    if (4 * next.distance < region.reach) find_near(region, r, next.distance);
    State state = State::inside;
    for (const Count other : region.near) {
      if (!within(next, other)) continue;
      state = State::beside;
      const std::lock_guard<std::mutex> lock(regions_[size_t(other)].mutex);
      if (farthest_.before(regions_[size_t(other)].known, next)) return State::waits;
    }
    return state;
  }

  bool within(const Farthest& point, Count region) const {
    return squared_distance_to_box<D>(tree_.points[point.point], tree_.box(node(region)), tree_.points.d) <
           point.distance;
  }

  void find_near(Region& region, Count r, double reach) {
    region.reach = reach;
    region.near.clear();
    for (Count other = 0; other < count(); ++other)
      if (other != r && box_distance(tree_.box(node(r)), tree_.box(node(other)), tree_.points.d) < reach)
        region.near.push_back(other);
  }

  void choose(Region& region, Count r, const Farthest& next, State state) {
    region.chosen.push_back({next.distance, tree_.row[size_t(next.point)]});
    if (state == State::beside)
      for (const Count other : region.near) {
        if (!within(next, other)) continue;
        const std::lock_guard<std::mutex> lock(regions_[size_t(other)].mutex);
        regions_[size_t(other)].arrived.push_back(next.point);
      }
    farthest_.choose(node(r), tree_.points[next.point]);
  }

  bool take_arrived(Region& region, Count r) {
    std::vector<int> arrived;
    {
      const std::lock_guard<std::mutex> lock(region.mutex);
      arrived.swap(region.arrived);
    }
    for (const int point : arrived) farthest_.choose(node(r), tree_.points[point]);
    return !arrived.empty();
  }

  void publish(Region& region, Count r) {
    const std::lock_guard<std::mutex> lock(region.mutex);
    region.known = farthest_.of(node(r));
  }

  // Two and two, and so on: those of a region are sorted.
  std::vector<Chosen> merged(const Settings& settings) {
    std::vector<Chosen> all;
    std::vector<size_t> ends{0};
    all.reserve(size_t(tree_.points.n));
    for (Region& region : regions_) {
      all.insert(all.end(), region.chosen.begin(), region.chosen.end());
      ends.push_back(all.size());
      std::vector<Chosen>().swap(region.chosen);
    }
    for (Count width = 1; width < count(); width *= 2)
      parallel_for(count() / (2 * width), settings.threads, settings, [&](Count pair, Count) {
        const auto at = [&](Count k) { return all.begin() + std::ptrdiff_t(ends[size_t((2 * pair + k) * width)]); };
        std::inplace_merge(at(0), at(1), at(2));
      });
    return all;
  }

  FarthestTree<D> farthest_;
  const KdTree& tree_;
  std::vector<Region> regions_;
  std::atomic<Count> done_{0}, chosen_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::vector<int> maxmin_order(const KdTree& tree, const Settings& settings) {
  const Points& points = tree.points;
  std::vector<int> order;
  order.reserve(size_t(points.n));
  std::vector<bool> taken(size_t(points.n), false);
  with_dimension(points.d, [&](auto D) {
    for (const Chosen& one : MaxMin<D.value>(tree).order(settings)) {
      order.push_back(one.row);
      taken[size_t(one.row)] = true;
    }
  });
  for (Count i = 0; i < points.n; ++i)
    if (!taken[size_t(i)]) order.push_back(int(i));
  return order;
}

}  // namespace kernops::neighbours
