#include "neighbours/new_points.h"

#include <optional>

namespace kernops::neighbours {

// The factor as variances_of_sums() reads it: the rows of the posterior, if any, then those of the new points. The
// variances of few points are exact; those of many points have relative errors of up to some 1e-6, in half of the time.
// The number of all points decides this, so that parts of the points have the variances of the whole.
struct NewPoints::Rows {
  explicit Rows(const NewPoints& points)
      : points(points), first(size_t(points.first())), nothing(points.first() + points.total <= 2048 ? 0 : 1e-15) {
    if (points.posterior) base.emplace(points.posterior->rows());
  }
  double variance(size_t i) const {
    if (i < first) return base->variance(i);
    return points.sd[i - first] * points.sd[i - first];
  }
  double scale(size_t i, double value) const { return i < first ? base->scale(i, value) : -value; }
  template <class Each> void each(size_t i, const Each& each) const {
    if (i < first) return base->each(i, each);
    for (Count k = Count(i - first) * points.m; k < Count(i - first + 1) * points.m; ++k) {
      const Count at = points.neighbours[k] - 1 - points.base + Count(first);
      if (points.neighbours[k] > 0 && at >= 0) each(points.weights[k], size_t(at));
    }
  }
  const NewPoints& points;
  const size_t first;
  const double nothing;
  std::optional<Posterior::Rows> base;
};

bool NewPoints::in_order() const {
  for (Count k = 0; k < count * m; ++k)
    if (neighbours[k] < 0 || neighbours[k] > base + k / m) return false;
  return true;
}

// Columns side by side, since the neighbours of a point are anywhere in memory.
void NewPoints::predict(const double* at_base, const double* errors, int columns, double* to,
                        const Settings& settings) const {
  const int width = std::min(columns, sum_lanes);
  const Count units = width ? ceil_div(columns, width) : 0, workers = std::min<Count>(settings.threads, units);
  std::vector<std::vector<double>> values(static_cast<size_t>(workers),
                                          std::vector<double>(static_cast<size_t>((base + count) * width)));
  parallel_for(units, workers, settings, [&](Count unit, Count worker) {
    const Count first = unit * width;
    const int own = int(std::min<Count>(width, columns - first));
    double* const value = values[size_t(worker)].data();
    for (int c = 0; c < own; ++c)
      for (Count i = 0; i < base; ++i) value[i * width + c] = at_base[(first + c) * base + i];
    for (Count i = 0; i < count; ++i) {
      double sum[sum_lanes] = {};
      for (Count k = i * m; k < (i + 1) * m; ++k) {
        if (neighbours[k] == 0) continue;
        const double* const from = value + (neighbours[k] - 1) * Count(width);
        for (int c = 0; c < own; ++c) sum[c] += weights[k] * from[c];
      }
      for (int c = 0; c < own; ++c) {
        const Count at = (first + c) * count + i;
        to[at] = value[(base + i) * width + c] = sum[c] + (errors ? sd[i] * errors[at] : 0);
      }
    }
  });
}

void NewPoints::variances(const Settings& settings, double* to) const {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int(first()) + 1);
  const std::vector<double> ones(numbers.size(), 1.0);
  // points with common neighbours reach the same points
  variances_of_all_sums(Rows(*this), part_size(), {numbers.data(), count, 1}, ones.data(),
                        alike_together({neighbours, count, m}), settings, to, nullptr);
}

void NewPoints::sum_points(const PointSets& sets, const double* sums, const Settings& settings, double* to,
                           double* parts) const {
  std::vector<int> rows(sets.at, sets.at + sets.count * sets.m);
  for (int& row : rows)
    if (row > 0) row += int(first());
  const PointSets of_rows{rows.data(), sets.count, sets.m};
  variances_of_all_sums(Rows(*this), part_size(), of_rows, sums, alike_together(of_rows), settings, to, parts);
}

}  // namespace kernops::neighbours
