#include "order/quantiles.h"

#include <kernops/quantile_positions.h>

#include <algorithm>
#include <cmath>

namespace kernops {
namespace {

constexpr size_t few_quantiles = 3;

// The order statistics of weighted values: statistic k is the first value at which the cumulative weight exceeds k.
class WeightedOrder {
 public:
  explicit WeightedOrder(Sample& sample) : placed_(sample.placed.data()), totals_(size_t(sample.count)) {
    sample.sort_placed();
    for (Count k = 0; k < sample.count; ++k) totals_[size_t(k)] = sum_ += sample.weight(placed_[k].place);
  }
  double sum() const { return sum_; }
  double statistic(double k) const { return placed_[first_from(k + 1)].x; }

  // The quantile at the share p of the total weight. Types 1 and 2 depend only on shares, and not on the scale of the
  // weights.
  double by_share(int type, double p) const {
    const double target = p * sum_;
    const Count k = first_from(target);
    const bool between_two = type == 2 && std::abs(totals_[size_t(k)] - target) <= fuzz_ * sum_;
    return between_two ? between(placed_[k].x, placed_[next(k)].x, 0.5) : placed_[k].x;
  }

 private:
  // The first value at which the cumulative weight is at least `total`.
  Count first_from(double total) const {
    const Count k =
        std::lower_bound(totals_.begin(), totals_.end(), std::max(total - fuzz_ * sum_, 1e-300)) - totals_.begin();
    return std::min(k, Count(totals_.size()) - 1);
  }
  Count next(Count k) const {
    const Count later = std::upper_bound(totals_.begin(), totals_.end(), totals_[size_t(k)]) - totals_.begin();
    return std::min(later, Count(totals_.size()) - 1);
  }
  static constexpr double fuzz_ = 1e-14;
  Placed* placed_;
  std::vector<double> totals_;
  double sum_ = 0;
};

void write_weighted(Sample& sample, int type, const std::vector<double>& probs, double* results) {
  const WeightedOrder order(sample);
  for (const double p : probs) {
    if (!(order.sum() > 0) || std::isinf(order.sum())) {
      *results++ = not_a_number<double>();
    } else if (type <= 2) {
      *results++ = order.by_share(type, p);
    } else {
      const QuantilePosition at = quantile_position(type, order.sum(), p);
      *results++ = between(order.statistic(double(at.lower)), order.statistic(double(at.upper)), at.share);
    }
  }
}

}  // namespace

void write_quantiles(Sample& sample, int type, const std::vector<double>& probs, double* results) {
  if (sample.weighed) return write_weighted(sample, type, probs, results);
  const double* x = sample.x.data();
  const Count n = sample.count;
  const bool in_order = probs.size() > few_quantiles;
  if (in_order) sample.sort();
  for (const double p : probs) {
    const QuantilePosition at = quantile_position(type, double(n), p);
    const Pair two = in_order ? Pair{x[at.lower], x[at.upper]} : sample.select(at.lower);
    *results++ = between(two.lower, at.upper > at.lower ? two.upper : two.lower, at.share);
  }
}

}  // namespace kernops
