// Products with the inverse of a posterior precision.
#include <cmath>
#include <numeric>

#include "neighbours/posterior.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 2048;  // rows

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

void Posterior::times(const double* diagonal, const double* x, double* y, const Settings& settings) const {
  Numbers whitened(static_cast<size_t>(n_));
  each_row(n_, unit, settings, [&](Count set, Count) {
    double sum = x[set];
    for (Count k = set * m_; k < (set + 1) * m_; ++k)
      if (neighbour_[size_t(k)] > 0) sum -= weights_[size_t(k)] * x[neighbour_[size_t(k)] - 1];
    whitened[size_t(set)] = sum * precision_[size_t(set)];
  });
  each_row(n_, unit, settings, [&](Count i, Count) {
    double sum = whitened[size_t(i)] + diagonal[i] * x[i];
    for (Count k = Count(set_start_[size_t(i)]); k < Count(set_start_[size_t(i + 1)]); ++k)
      sum -= by_column_[size_t(k)] * whitened[size_t(set_entry_[size_t(k)] / m_)];
    y[i] = sum;
  });
  add_effects(x, y), add_border(x, y);
}

void Posterior::add_effects(const double* x, double* y) const {
  const auto add = [&](Count i, Count effect, double entry) { y[i] += entry * x[effect], y[effect] += entry * x[i]; };
  for (Count e = 0; e < effects_.count; ++e)
    for (Count k = start_[size_t(e)]; k < start_[size_t(e + 1)]; ++k) add(e, column_[size_t(k)], entry_[size_t(k)]);
  for (Count i = 0; effects_.count && i < n_; ++i)
    for (int t = first_effect(i); t < first_effect(i + 1); ++t)
      add(i, effects_.column[size_t(t)], entry_[size_t(effect_place_[size_t(t)])]);
}

void Posterior::precondition(const double* r, double* x, const Settings& settings) const {
  const auto before = [&](Count i) {
    double own = r[i];
    for (Count t = later_points(i); t < later_start_[size_t(i + 1)]; ++t)
      own -= later_factor_[size_t(t)] * x[later_[size_t(t)]];
    x[i] = own;
  };
  rows_in_order(n_ - head_, settings, [&](Count number, Count, const auto& after) {
    const Count i = n_ - 1 - number;
    wait_for_later(i, after);
    before(i);
  });
  if (head_) {
    each_row(head_, 16, settings, [&](Count e, Count) { before(e); });
    within_->solve(x, 1, SparseCholesky::Half::first, settings);
  }
  precondition_border(r, x);
  if (head_) within_->solve(x, 1, SparseCholesky::Half::second, settings);
  rows_in_order(n_, settings, [&](Count i, Count, const auto& after) {
    if (i < head_) return;
    wait_for_earlier(i, after);
    double own = x[i];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) own -= factor_[size_t(k)] * x[column_[size_t(k)]];
    x[i] = own / pivot_[size_t(i)];
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

int Posterior::solve(const double* diagonal, const double* b, double* x, double tol, int most, const Settings& settings,
                     LanczosRun* run) const {
  const Count n = length();
  Numbers r(b, b + n), z(size_t(n), 0.0), p, image(size_t(n), 0.0);
  const double enough = tol * std::sqrt(dot(r, r));
  times(diagonal, x, image.data(), settings);
  for (Count i = 0; i < n; ++i) r[size_t(i)] -= image[size_t(i)];
  double before = 0;
  for (int step = 0;; ++step) {
    if (std::sqrt(dot(r, r)) <= enough || step == most) return step;
    precondition(r.data(), z.data(), settings);
    const double now = dot(r, z);
    if (step == 0)
      p = z;
    else
      for (Count i = 0; i < n; ++i) p[size_t(i)] = z[size_t(i)] + now / before * p[size_t(i)];
    if (run && step > 0) run->ratio.push_back(now / before);
    before = now;
    times(diagonal, p.data(), image.data(), settings);
    const double length = now / dot(p, image);
    if (!std::isfinite(length)) return most;
    if (run) run->step.push_back(length);
    for (Count i = 0; i < n; ++i) x[i] += length * p[size_t(i)], r[size_t(i)] -= length * image[size_t(i)];
  }
}

}  // namespace kernops::neighbours
