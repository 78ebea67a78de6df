#include "neighbours/new_points.h"

#include <atomic>
#include <optional>

#include "run/huge_pages.h"
#include "run/rows.h"

namespace kernops::neighbours {

// The factor in the form that variances_of_sums() reads: the rows of the posterior, if there is one, then the rows of
// the new points. For few points, variances are exact. For many points, small values are dropped, which halves the
// time; the relative errors are then up to about 1e-6. The choice depends on the total number of new points, so that
// variances do not depend on how the new points are divided into parts.
struct NewPoints::Rows {
  Rows(const NewPoints& points, const Settings& settings)
      : points(points), first(size_t(points.first())), nothing(points.first() + points.total <= 2048 ? 0 : 1e-15) {
    if (points.posterior)
      base.emplace(points.posterior->rows());
    else
      keep_new(settings);
  }
  double variance(size_t i) const {
    if (i < first) return base->variance(i);
    return points.sd[i - first] * points.sd[i - first];
  }
  double scale(size_t i, double value) const { return i < first ? base->scale(i, value) : -value; }
  template <class Each> void each(size_t i, const Each& each) const {
    if (i < first) return base->each(i, each);
    if (!base) {
      for (Count k = start[i]; k < start[i + 1]; ++k) each(weight[size_t(k)], size_t(column[size_t(k)]));
      return;
    }
    for (Count k = Count(i - first) * points.m; k < Count(i - first + 1) * points.m; ++k)
      if (points.neighbours[k] > 0) each(points.weights[k], base->position(size_t(points.neighbours[k] - 1)));
  }

  const NewPoints& points;
  const size_t first;
  const double nothing;
  std::optional<Posterior::Rows> base;

 private:
  // Removes base points from the neighbours, because the values of base points are known and have no variance.
  void keep_new(const Settings& settings) {
    const Count m = points.m, n = points.count;
    start.assign(size_t(n) + 1, 0);
    in_parts(
        n, settings,
        [&](Count begin, Count end) {
          for (Count i = begin; i < end; ++i)
            for (Count k = i * m; k < (i + 1) * m; ++k) start[size_t(i + 1)] += points.neighbours[k] > points.base;
        },
        part);
    std::partial_sum(start.begin(), start.end(), start.begin());
    weight.resize(size_t(start.back())), column.resize(size_t(start.back()));
    in_parts(
        n, settings,
        [&](Count begin, Count end) {
          for (Count i = begin, to = start[size_t(begin)]; i < end; ++i)
            for (Count k = i * m; k < (i + 1) * m; ++k)
              if (points.neighbours[k] > points.base)
                weight[size_t(to)] = points.weights[k],
                column[size_t(to++)] = points.neighbours[k] - 1 - int(points.base);
        },
        part);
  }

  static constexpr Count part = 1024;
  std::vector<Count> start;
  LargeVector<double> weight;
  LargeVector<int> column;
};

bool NewPoints::in_order(const Settings& settings) const {
  std::atomic<bool> right{true};
  in_parts(
      count, settings,
      [&](Count begin, Count end) {
        for (Count i = begin; i < end; ++i) {
          int least = 0, most = 0;
          for (Count k = i * m; k < (i + 1) * m; ++k)
            least = std::min(least, neighbours[k]), most = std::max(most, neighbours[k]);
          if (least < 0 || most > base + i) right = false;
        }
      },
      1024);
  return right;
}

// Predicts several columns of values together, so that the neighbours of a point, which are scattered in memory, are
// read once for these columns. With few columns, threads share the points; with many columns, threads share the
// columns.
void NewPoints::predict(const double* at_base, const double* errors, int columns, double* to,
                        const Settings& settings) const {
  const int width = std::min(columns, sum_lanes);
  const Count units = width ? ceil_div(columns, width) : 0;
  const bool shared = units < settings.threads;
  const auto one = [&](Count unit, LargeVector<double>& values, const Settings& of_unit) {
    values.resize(static_cast<size_t>((base + count) * width));
    const Count first = unit * width;
    const int used = int(std::min<Count>(width, columns - first));
    double* const value = values.data();
    in_parts(base, of_unit, [&](Count begin, Count end) {
      for (int c = 0; c < used; ++c)
        for (Count i = begin; i < end; ++i) value[i * width + c] = at_base[(first + c) * base + i];
    });
    rows_in_order(count, of_unit, [&](Count i, Count, const auto& after) {
      double sum[sum_lanes] = {};
      for (Count k = i * m; k < (i + 1) * m; ++k) {
        if (neighbours[k] == 0) continue;
        if (neighbours[k] > base) after(neighbours[k] - 1 - base);
        const double* const from = value + (neighbours[k] - 1) * Count(width);
        for (int c = 0; c < used; ++c) sum[c] += weights[k] * from[c];
      }
      for (int c = 0; c < used; ++c) {
        const Count at = (first + c) * count + i;
        to[at] = value[(base + i) * width + c] = sum[c] + (errors ? sd[i] * errors[at] : 0);
      }
    });
  };
  Settings alone = settings;
  alone.threads = 1, alone.keep_going = nullptr;
  const Count workers = shared ? 1 : settings.threads;
  std::vector<LargeVector<double>> values(static_cast<size_t>(workers));
  parallel_for(units, workers, settings,
               [&](Count unit, Count worker) { one(unit, values[size_t(worker)], shared ? settings : alone); });
}

void NewPoints::variances(const Settings& settings, double* to) const {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), int(first()) + 1);
  const std::vector<double> ones(numbers.size(), 1.0);
  // sums whose sets have common neighbours are computed together, because they depend on the same points
  variances_of_all_sums(Rows(*this, settings), part_size(), {numbers.data(), count, 1}, ones.data(),
                        alike_together({neighbours, count, m}, settings), settings, to, nullptr);
}

void NewPoints::sum_points(const PointSets& sets, const double* sums, const Settings& settings, double* to,
                           double* parts) const {
  std::vector<int> rows(sets.at, sets.at + sets.count * sets.m);
  for (int& row : rows)
    if (row > 0) row += int(first());
  const PointSets of_rows{rows.data(), sets.count, sets.m};
  variances_of_all_sums(Rows(*this, settings), part_size(), of_rows, sums, alike_together(of_rows, settings), settings,
                        to, parts);
}

}  // namespace kernops::neighbours
