// Products with the inverse of a posterior precision. Columns of a field alone are solved for together, in the lanes of
// one `Number`: the indices and weights of a row are then read once for all of them.
#include <cmath>
#include <type_traits>

#include "neighbours/posterior.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 2048;  // rows
constexpr int lanes = 8;
using Lanes = Eigen::Array<double, lanes, 1>;

template <class Number> constexpr int width = std::is_same_v<Number, double> ? 1 : lanes;
template <class Number> double* lanes_of(Number& x) {
  if constexpr (width<Number> == 1)
    return &x;
  else
    return x.data();
}
template <class Number> Number constant(double value) {
  if constexpr (width<Number> == 1)
    return value;
  else
    return Number::Constant(value);
}

template <class Number> Number dot(const std::vector<Number>& a, const std::vector<Number>& b) {
  Number sum = constant<Number>(0);
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

template <class Number>
void Posterior::times(const double* diagonal, const Number* x, Number* y, const Settings& settings) const {
  std::vector<Number> whitened(static_cast<size_t>(n_));
  each_row(n_, unit, settings, [&](Count set, Count) {
    Number sum = x[set];
    for (Count k = set * m_; k < (set + 1) * m_; ++k)
      if (neighbour_[size_t(k)] > 0) sum -= weights_[size_t(k)] * x[neighbour_[size_t(k)] - 1];
    whitened[size_t(set)] = sum * precision_[size_t(set)];
  });
  each_row(n_, unit, settings, [&](Count i, Count) {
    Number sum = whitened[size_t(i)] + diagonal[i] * x[i];
    for (Count k = Count(set_start_[size_t(i)]); k < Count(set_start_[size_t(i + 1)]); ++k)
      sum -= by_column_[size_t(k)] * whitened[size_t(set_entry_[size_t(k)] / m_)];
    y[i] = sum;
  });
  if constexpr (width<Number> == 1) add_effects(x, y), add_border(x, y);
}

void Posterior::add_effects(const double* x, double* y) const {
  const auto add = [&](Count i, Count effect, double entry) { y[i] += entry * x[effect], y[effect] += entry * x[i]; };
  for (Count e = 0; e < effects_.count; ++e)
    for (Count k = start_[size_t(e)]; k < start_[size_t(e + 1)]; ++k) add(e, column_[size_t(k)], entry_[size_t(k)]);
  for (Count i = 0; effects_.count && i < n_; ++i)
    for (int t = first_effect(i); t < first_effect(i + 1); ++t)
      add(i, effects_.column[size_t(t)], entry_[size_t(effect_place_[size_t(t)])]);
}

template <class Number> void Posterior::precondition(const Number* r, Number* x, const Settings& settings) const {
  const auto before = [&](Count i) {
    Number sum = r[i];
    for (Count t = later_points(i); t < later_start_[size_t(i + 1)]; ++t)
      sum -= later_factor_[size_t(t)] * x[later_[size_t(t)]];
    x[i] = sum;
  };
  rows_in_order(n_ - head_, settings, [&](Count number, Count, const auto& after) {
    const Count i = n_ - 1 - number;
    wait_for_later(i, after);
    before(i);
  });
  if constexpr (width<Number> == 1) {
    if (head_) {
      each_row(head_, 16, settings, [&](Count e, Count) { before(e); });
      within_->solve(x, 1, SparseCholesky::Half::first, settings);
    }
    precondition_border(r, x);
    if (head_) within_->solve(x, 1, SparseCholesky::Half::second, settings);
  }
  rows_in_order(n_, settings, [&](Count i, Count, const auto& after) {
    if (i < head_) return;
    wait_for_earlier(i, after);
    Number sum = x[i];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) sum -= factor_[size_t(k)] * x[column_[size_t(k)]];
    x[i] = sum / pivot_[size_t(i)];
  });
}

void Posterior::multiply_by_factor(double* x, const Settings& settings) const {
  Numbers scaled(x, x + n_);
  for (Count i = head_; i < n_; ++i) scaled[size_t(i)] *= std::sqrt(pivot_[size_t(i)]);
  multiply_by_border(scaled, x);
  if (head_) within_->multiply(scaled.data());
  each_row(n_, unit, settings, [&](Count i, Count) {
    double sum = scaled[size_t(i)];
    for (Count t = later_points(i); t < later_start_[size_t(i + 1)]; ++t)
      sum += later_factor_[size_t(t)] * scaled[size_t(later_[size_t(t)])];
    x[i] = sum;
  });
}

// Lanes whose residuals are small enough do not change any more, so that results do not depend on other lanes.
template <class Number>
void Posterior::iterate(const double* diagonal, const Number* b, Number* x, double tol, int most,
                        const Settings& settings, int* steps, LanczosRun* run) const {
  using std::sqrt;
  const auto each_lane = [](const auto& work) {
    for (int lane = 0; lane < width<Number>; ++lane) work(lane);
  };
  const Count n = length();
  std::vector<Number> r(b, b + n), z(size_t(n), constant<Number>(0)), p(z), image(z);
  Number before = constant<Number>(1), length = before, ratio = constant<Number>(0);
  Number enough = tol * sqrt(dot(r, r));
  times(diagonal, x, image.data(), settings);
  for (Count i = 0; i < n; ++i) r[size_t(i)] -= image[size_t(i)];
  each_lane([&](int lane) { steps[lane] = -1; });
  for (int step = 0;; ++step) {
    Number size = sqrt(dot(r, r));
    bool ended = true;
    each_lane([&](int lane) {
      if (steps[lane] < 0 && (lanes_of(size)[lane] <= lanes_of(enough)[lane] || step == most)) steps[lane] = step;
      ended = ended && steps[lane] >= 0;
    });
    if (ended) return;
    precondition(r.data(), z.data(), settings);
    Number now = dot(r, z);
    if (step > 0) ratio = now / before;
    each_lane([&](int lane) {
      if (steps[lane] >= 0) lanes_of(ratio)[lane] = 0;
    });
    if (run && step > 0) run->ratio.push_back(lanes_of(ratio)[0]);
    for (Count i = 0; i < n; ++i) p[size_t(i)] = z[size_t(i)] + ratio * p[size_t(i)];
    before = now;
    times(diagonal, p.data(), image.data(), settings);
    length = now / dot(p, image);
    each_lane([&](int lane) {
      if (steps[lane] < 0 && !std::isfinite(lanes_of(length)[lane])) steps[lane] = most;
      if (steps[lane] >= 0) lanes_of(length)[lane] = 0;
    });
    if (width<Number> == 1 && steps[0] >= 0) return;
    if (run) run->step.push_back(lanes_of(length)[0]);
    for (Count i = 0; i < n; ++i) x[i] += length * p[size_t(i)], r[size_t(i)] -= length * image[size_t(i)];
  }
}

int Posterior::solve(const double* diagonal, const double* b, double* x, double tol, int most, const Settings& settings,
                     LanczosRun* run) const {
  int steps = 0;
  iterate(diagonal, b, x, tol, most, settings, &steps, run);
  return steps;
}

Count Posterior::columns_together() const { return effects_.count || border_.width || head_ ? 1 : lanes; }

void Posterior::solve_columns(const double* diagonal, const double* b, double* x, Count columns, double tol, int most,
                              const Settings& settings, int* steps) const {
  const Count n = length();
  if (columns == 1) {
    *steps = solve(diagonal, b, x, tol, most, settings);
    return;
  }
  std::vector<Lanes> right(size_t(n), Lanes::Zero()), solution(right);
  for (Count c = 0; c < columns; ++c)
    for (Count i = 0; i < n; ++i) right[size_t(i)][c] = b[c * n + i], solution[size_t(i)][c] = x[c * n + i];
  int taken[lanes];
  iterate(diagonal, right.data(), solution.data(), tol, most, settings, taken, nullptr);
  for (Count c = 0; c < columns; ++c) {
    steps[c] = taken[c];
    for (Count i = 0; i < n; ++i) x[c * n + i] = solution[size_t(i)][c];
  }
}

}  // namespace kernops::neighbours
