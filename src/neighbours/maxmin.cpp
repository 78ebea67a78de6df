// Computes the max-min ordering by several threads. Space is divided into regions, which are nodes of the k-d tree. One
// thread at a time processes a region. Let c be the point of a region that is farthest from all chosen points, and d
// its distance to the nearest chosen point. Only points that are chosen later in regions closer to c than d can still
// decrease d. The thread chooses c if none of these regions has a point that must be chosen before c. The distance from
// a point to the nearest chosen point never increases. If points are sorted by this distance at the time of their
// choice, they are therefore in the order in which a single thread would choose them, whatever the order in which
// threads process the regions.
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
  std::vector<Count> near;  // regions within the squared distance `reach` of this region
  double reach = HUGE_VAL;
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::atomic<bool> done{false};
  std::mutex mutex;          // the members below are read and written by other threads
  Farthest known;            // no point that the region chooses later comes before this point
  std::vector<int> arrived;  // points that other regions chose near this region
};

template <int D> class MaxMin {
 public:
  explicit MaxMin(const KdTree& tree) : farthest_(tree), tree_(tree), regions_(size_t(region_count())) {}

  std::vector<int> order(const Settings& settings) {
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

  // The number of regions: a power of two, such that a region has about 16,000 points.
  Count region_count() const {
    Count count = 1;
    while (count < 256 && count < tree_.leaves && tree_.points.n > 16384 * count) count *= 2;
    return count;
  }

  // The point nearest to the mean of all points.
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

  // Processes regions that no other thread is processing, until all regions are done.
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

  // Chooses points of region r until the region must wait for another region; returns whether any point was chosen.
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
      // other regions may have chosen points that decrease distances in region r; these distances are updated first
      if (state != State::inside && take_arrived(region, r)) continue;
      if (state == State::waits) break;
      choose(region, r, next, state);
      if (region.chosen.size() % 64 == 0) publish(region, r);
    }
    publish(region, r);
    chosen_ += Count(region.chosen.size() - before);
    return region.chosen.size() > before;
  }

  // The relation of a region's farthest point to other regions. inside: all other regions are farther away than the
  // nearest chosen point. beside: some region is nearer, but all points that it will choose come later. waits: a point
  // of a nearer region comes first.
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

  // Merges the regions: returns the rows of all points in the order of choice. The points of each region are already
  // sorted. Splitters divide the points of all regions into parts, each of which is sorted by one thread.
  std::vector<int> merged(const Settings& settings) {
    const std::vector<Chosen> splitters = splitters_of(settings.threads);
    const Count parts = Count(splitters.size()) + 1;
    const auto place = [&](const Region& region, Count part) {  // position of the first point of a part
      const auto begin = region.chosen.begin(), end = region.chosen.end();
      return part == 0 ? begin : part == parts ? end : std::lower_bound(begin, end, splitters[size_t(part - 1)]);
    };
    std::vector<Count> first(size_t(parts) + 1, 0);
    for (Count part = 0; part < parts; ++part) {
      first[size_t(part) + 1] = first[size_t(part)];
      for (const Region& region : regions_) first[size_t(part) + 1] += place(region, part + 1) - place(region, part);
    }
    std::vector<int> rows(static_cast<size_t>(first.back()));
    parallel_for(parts, std::min<Count>(settings.threads, parts), settings, [&](Count part, Count) {
      std::vector<Chosen> some;
      for (const Region& region : regions_) some.insert(some.end(), place(region, part), place(region, part + 1));
      std::sort(some.begin(), some.end());
      for (size_t k = 0; k < some.size(); ++k) rows[size_t(first[size_t(part)]) + k] = some[k].row;
    });
    return rows;
  }

  // Selects the splitters: points that divide the sorted points of all regions into several parts for each thread.
  std::vector<Chosen> splitters_of(int threads) const {
    constexpr size_t samples = 64;  // number of sampled points of a region
    std::vector<Chosen> some, splitters;
    for (const Region& region : regions_)
      for (size_t k = 1; k <= samples && region.chosen.size() > samples; ++k)
        some.push_back(region.chosen[k * region.chosen.size() / (samples + 1)]);
    std::sort(some.begin(), some.end());
    const size_t parts = std::min(some.size(), size_t(8 * threads));
    for (size_t part = 1; part < parts; ++part) splitters.push_back(some[part * some.size() / parts]);
    return splitters;
  }

  FarthestTree<D> farthest_;
  const KdTree& tree_;
  std::vector<Region> regions_;
  std::atomic<Count> done_{0}, chosen_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::vector<int> maxmin_order(const KdTree& tree, const Settings& settings) {
  std::vector<int> order;
  with_dimension(tree.points.d, [&](auto D) { order = MaxMin<D.value>(tree).order(settings); });
  const size_t n = size_t(tree.points.n);
  if (order.size() == n) return order;
  std::vector<bool> taken(n, false);
  for (const int row : order) taken[size_t(row)] = true;
  for (size_t row = 0; row < n; ++row)
    if (!taken[row]) order.push_back(int(row));
  return order;
}

}  // namespace kernops::neighbours
