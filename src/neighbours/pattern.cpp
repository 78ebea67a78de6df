// Second-order sums of point patterns. Queries are processed in units. The sums of each unit are computed separately,
// and are then added in order, so that results do not depend on the number of threads.
#include "neighbours/pattern.h"

#include <algorithm>
#include <cmath>

#include "neighbours/ball.h"

namespace kernops::neighbours {

namespace {

constexpr double quarter_turn = 1.5707963267948966;
constexpr double largest_weight = 100;

// The sides of the rectangle relative to a point. Side s is at distance[s], and extends from the angle -before[s] to
// the angle after[s] around its normal. The sides are in the order of a walk around the rectangle.
struct Sides {
  double nearest, distance[4], before[4], after[4];
};

Sides sides_of(const double* p, const Rectangle& window) {
  Sides sides{0, {p[0] - window.low[0], p[1] - window.low[1], window.high[0] - p[0], window.high[1] - p[1]}, {}, {}};
  sides.nearest = *std::min_element(sides.distance, sides.distance + 4);
  for (int side = 0; side < 4; ++side) {
    const int next = (side + 1) % 4;
    sides.after[side] = std::atan2(sides.distance[next], sides.distance[side]);
    sides.before[next] = quarter_turn - sides.after[side];
  }
  return sides;
}

// The weight of Ripley's isotropic edge correction. Its inverse is the share of a circle that lies in the rectangle;
// the circle has radius d and is centred at the point.
double isotropic_weight(const Sides& sides, double d) {
  if (d <= sides.nearest) return 1;
  double outside = 0;
  for (int side = 0; side < 4; ++side) {
    if (sides.distance[side] >= d) continue;
    const double angle = std::acos(sides.distance[side] / d);
    outside += std::min(angle, sides.before[side]) + std::min(angle, sides.after[side]);
  }
  const double part = 1 - outside / (4 * quarter_turn);
  return part * largest_weight > 1 ? 1 / part : largest_weight;
}

// The weight of the translation edge correction. Its inverse is the share of the rectangle that a copy of the rectangle
// covers after a shift by the difference of the two points.
double translation_weight(const double* a, const double* b, const Rectangle& window) {
  double part = 1;
  for (int k = 0; k < 2; ++k) part *= 1 - std::abs(a[k] - b[k]) / (window.high[k] - window.low[k]);
  return part * largest_weight > 1 ? 1 / part : largest_weight;
}

// Adds the weight of a pair to the sums for all radii r[k] to which the pair contributes.
class Accumulator {
 public:
  Accumulator(const PatternRequest& request, double* sums)
      : r_(request.r),
        half_(request.bandwidth),
        scale_(r_.back() > 0 ? double(r_.size() - 1) / r_.back() : 0),
        sums_(sums) {}

  void add(double d, double weight) {
    if (half_ == 0) {
      sums_[first_from(d)] += weight;
      return;
    }
    for (size_t k = first_from(d - half_); k < r_.size() && r_[k] < d + half_; ++k) {
      const double u = (r_[k] - d) / half_;
      sums_[k] += weight * 0.75 / half_ * (1 - u * u);
    }
  }

 private:
  // Returns the first k with r[k] >= value; if the steps of r are equal, k is computed without a search.
  size_t first_from(double value) const {
    const size_t last = r_.size();
    size_t k = value > 0 ? std::min(size_t(value * scale_), last - 1) : 0;
    while (k > 0 && r_[k - 1] >= value) --k;
    while (k < last && r_[k] < value) ++k;
    return k;
  }

  const std::vector<double>& r_;
  const double half_, scale_;
  double* const sums_;
};

// Adds the pairs of one query with all points of the tree. If the query is itself a point of the tree, only later
// points are visited, and each pair is added for both orders.
void add_pairs(const PatternRequest& request, const Ball<2>& ball, const std::vector<Sides>& sides, Count query,
               Accumulator& sums) {
  const bool within_points = !request.queries;
  const double* const from = (within_points ? request.tree.points.at.data() : request.queries) + 2 * query;
  ball.visit(
      from,
      [&](Count i, double square) {
        const double d = std::sqrt(square);
        double weight = within_points ? 2 : 1;
        if (request.correction == EdgeCorrection::translation)
          weight *= translation_weight(from, request.tree.points[i], request.window);
        if (request.correction == EdgeCorrection::isotropic) {
          weight = isotropic_weight(sides[size_t(query)], d);
          if (within_points) weight += isotropic_weight(sides[size_t(i)], d);
        }
        sums.add(d, weight);
      },
      1, within_points ? query + 1 : 0);
}

}  // namespace

std::vector<double> pattern_sums(const PatternRequest& request, const Settings& settings) {
  const size_t steps = request.r.size();
  const double* const centres = request.queries ? request.queries : request.tree.points.at.data();
  std::vector<Sides> sides;
  if (request.correction == EdgeCorrection::isotropic)
    for (Count q = 0; q < request.count; ++q) sides.push_back(sides_of(centres + 2 * q, request.window));
  const Count unit = std::max<Count>(64, ceil_div(request.count, Count(1024)));
  const Count units = ceil_div(request.count, unit);
  std::vector<double> of_units(size_t(units) * (steps + 1), 0.0);
  const Ball<2> ball(request.tree, request.r.back() + request.bandwidth);
  parallel_for(units, std::min<Count>(settings.threads, units), settings, [&](Count number, Count) {
    Accumulator sums(request, of_units.data() + size_t(number) * (steps + 1));
    for (Count q = number * unit; q < std::min(request.count, (number + 1) * unit); ++q)
      add_pairs(request, ball, sides, q, sums);
  });
  std::vector<double> total(steps, 0.0);
  for (Count number = 0; number < units; ++number)
    for (size_t k = 0; k < steps; ++k) total[k] += of_units[size_t(number) * (steps + 1) + k];
  if (request.bandwidth == 0)
    for (size_t k = 1; k < steps; ++k) total[k] += total[k - 1];
  return total;
}

}  // namespace kernops::neighbours
