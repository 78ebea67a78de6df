// Products with a posterior precision and with its factor, for one column or for several columns together, see
// neighbours/lanes.h.
#include <cmath>

#include "neighbours/lanes.h"
#include "neighbours/posterior.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 2048;  // number of rows of a unit of work

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
  add_effects(x, y), add_border(x, y, settings);
}

template <class Number> void Posterior::add_effects(const Number* x, Number* y) const {
  const auto add = [&](Count i, Count effect, double entry) { y[i] += entry * x[effect], y[effect] += entry * x[i]; };
  for (Count e = 0; e < effects_.count; ++e)
    for (int t = effects_.within_start[size_t(e)] + 1; t < effects_.within_start[size_t(e) + 1]; ++t)
      add(effects_.within_row[size_t(t)], e, within_entry_[size_t(t)]);
  for (Count i = 0; effects_.count && i < n_; ++i)
    for (int t = first_effect(i); t < first_effect(i + 1); ++t) add(i, effects_.column[size_t(t)], across_[size_t(t)]);
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
  if (head_) {
    each_row(head_, 16, settings, [&](Count e, Count) { before(e); });
    within_->solve(x, SparseCholesky::Half::first);
  }
  precondition_border(r, x, settings);
  if (head_) within_->solve(x, SparseCholesky::Half::second);
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

template void Posterior::times(const double*, const double*, double*, const Settings&) const;
template void Posterior::times(const double*, const Lanes*, Lanes*, const Settings&) const;
template void Posterior::precondition(const double*, double*, const Settings&) const;
template void Posterior::precondition(const Lanes*, Lanes*, const Settings&) const;

}  // namespace kernops::neighbours
