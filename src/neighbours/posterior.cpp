#include "neighbours/posterior.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "neighbours/sparse_inverse.h"
#include "run/huge_pages.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 256;  // number of rows of a unit of work

}  // namespace

Posterior::Posterior(const PointSets& neighbours, const PointSets& wide, ObservedEffects effects,
                     const std::vector<int>& dense, const Settings& settings)
    : n_(neighbours.count),
      m_(neighbours.m),
      effects_(std::move(effects)),
      neighbour_(size_t(n_ * m_)),
      slot_(neighbour_.size()),
      weights_(neighbour_.size()) {
  if (neighbour_.size() > INT_MAX) throw std::length_error("there are too many points and neighbours");
  each_row(n_, unit, settings, [&](Count set, Count) {
    const int* const own = neighbours.at + set * m_;
    int* const given = slot_.data() + set * m_;
    std::iota(given, given + m_, 0);
    std::sort(given, given + m_, [&](int a, int b) { return own[a] < own[b]; });
    for (int s = 0; s < m_; ++s) neighbour_[size_t(set * m_ + s)] = own[given[s]];
  });
  set_start_.resize(size_t(n_) + 1), set_entry_.resize(neighbour_.size());
  find_columns(neighbour_.data(), n_, m_, set_start_.data(), set_entry_.data());
  find_pattern(wide, settings), find_later();
  inverse_.resize(column_.size()), diagonal_.resize(size_t(n_)), inverse_diagonal_.resize(size_t(n_));
  across_.assign(effects_.column.size(), 0.0), within_entry_.assign(effects_.within_row.size(), 0.0);
  find_entries_of_effects(), place_effects(dense);
  constexpr size_t large = 1 << 22;  // entries; releasing memory takes time, which small posteriors do not repay
  if (column_.size() >= large) release_freed_memory();
}

void Posterior::find_entries_of_effects() {
  effect_place_.resize(effects_.column.size());
  for (Count i = 0; effects_.count && i < n_; ++i)
    for (int t = effects_.start[size_t(i)]; t < effects_.start[size_t(i + 1)]; ++t)
      effect_place_[size_t(t)] = int(place_of(i, effects_.column[size_t(t)]));
  within_place_.assign(effects_.within_row.size(), -1);  // the pattern has no positions for entries of the diagonal
  for (int e = 0; e < effects_.count; ++e)
    for (int t = effects_.within_start[size_t(e)] + 1; t < effects_.within_start[size_t(e) + 1]; ++t)
      within_place_[size_t(t)] = int(place_of(effects_.within_row[size_t(t)], e));
  later_tail_.resize(size_t(head_));
  for (Count e = 0; e < head_; ++e) {
    Count& t = later_tail_[size_t(e)] = later_start_[size_t(e)];
    while (t < later_start_[size_t(e) + 1] && later_[size_t(t)] < head_) ++t;
  }
}

Count Posterior::place_of(Count i, int effect) const {
  const auto row = column_.begin() + start_[size_t(i)], end = column_.begin() + start_[size_t(i + 1)];
  return std::lower_bound(row, end, effect) - column_.begin();
}

double Posterior::covariance(Count i, int effect) const {
  if (i == effect) return inverse_diagonal_[size_t(i)];
  const Count row = std::max<Count>(i, effect);
  const int column = int(std::min<Count>(i, effect));
  const Count place = place_of(row, column);
  return place < start_[size_t(row + 1)] && column_[size_t(place)] == column ? inverse_[size_t(place)] : 0;
}

void Posterior::invert_within(double* to) const {
  for (int e = 0; e < effects_.count; ++e) {
    int t = effects_.within_start[size_t(e)];
    to[t] = inverse_diagonal_[size_t(e)];
    for (++t; t < effects_.within_start[size_t(e) + 1]; ++t) to[t] = inverse_[size_t(within_place_[size_t(t)])];
  }
}

// Finds the later points of each column of the pattern by a counting sort.
void Posterior::find_later() {
  later_start_.assign(size_t(n_) + 1, 0), later_.resize(column_.size()), later_at_.resize(column_.size());
  for (const int j : column_) ++later_start_[size_t(j) + 1];
  std::partial_sum(later_start_.begin(), later_start_.end(), later_start_.begin());
  std::vector<Count> next(later_start_.begin(), later_start_.end() - 1);
  for (Count i = 0; i < n_; ++i)
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) {
      const size_t at = size_t(next[size_t(column_[size_t(k)])]++);
      later_[at] = int(i), later_at_[at] = int(k);
    }
}

void Posterior::fill(const double* weights, const double* sd, const Settings& settings) {
  precision_.assign(size_t(n_), 1.0), by_column_.resize(neighbour_.size());
  const Count effects = effects_.count;
  std::fill_n(weights_.begin(), effects * m_, 0.0);
  each_row(n_ - effects, unit, settings, [&](Count point, Count) {
    const Count set = effects + point;
    precision_[size_t(set)] = 1 / (sd[point] * sd[point]);
    for (Count k = set * m_; k < (set + 1) * m_; ++k) weights_[size_t(k)] = weights[point * m_ + slot_[size_t(k)]];
  });
  each_row(n_, unit, settings, [&](Count i, Count) {
    for (Count k = Count(set_start_[size_t(i)]); k < Count(set_start_[size_t(i + 1)]); ++k)
      by_column_[size_t(k)] = weights_[size_t(set_entry_[size_t(k)])];
  });
  set_entries(settings);
}

// Stores the diagonal of Q, and stores the other entries of Q in the memory of the inverse; factor() then adds the
// entries of D.
void Posterior::set_entries(const Settings& settings) {
  // for each worker, the positions in the pattern of the columns of its latest rows
  std::vector<std::vector<int>> positions(size_t(row_workers(n_, settings)), std::vector<int>(size_t(n_), -1));
  each_row(n_, unit, settings, [&](Count i, Count worker) {
    std::vector<int>& position = positions[size_t(worker)];
    const Count begin = start_[size_t(i)], end = start_[size_t(i + 1)];
    for (Count k = begin; k < end; ++k) position[size_t(column_[size_t(k)])] = int(k), inverse_[size_t(k)] = 0;
    double variance = 0;
    each_set(i, [&](Count set, int slot) {
      const double* const own = weights_.data() + set * m_;
      const double contrast = slot < m_ ? -own[slot] : 1, scaled = contrast * precision_[size_t(set)];
      variance += contrast * scaled;
      for (int s = 0; s < slot; ++s) {
        const int near = member(set, s), k = near < 0 ? -1 : position[size_t(near)];
        if (k >= begin && k < end) inverse_[size_t(k)] -= own[s] * scaled;
      }
    });
    diagonal_[size_t(i)] = variance;
  });
  has_entries_ = true;
}

void Posterior::observe(const double* across, const double* within) {
  std::copy_n(across, across_.size(), across_.begin());
  std::copy_n(within, within_entry_.size(), within_entry_.begin());
}

void Posterior::differentiate(const double* f, const double* g, double* by_weights, double* by_sd,
                              const Settings& settings) const {
  std::vector<Numbers> room(size_t(row_workers(n_, settings)), Numbers(2 * (size_t(m_) + 1)));
  each_row(n_, unit, settings, [&](Count set, Count worker) {
    double* const q = room[size_t(worker)].data();
    by_sd[set] = differentiate_set(set, f, g, by_weights + set * m_, q, q + m_ + 1);
  });
}

double Posterior::differentiate_set(Count set, const double* f, const double* g, double* by_weights, double* q,
                                    double* product) const {
  for (int s = 0; s < m_; ++s) q[s] = -weights_[size_t(set * m_ + s)];
  q[m_] = 1;
  double by_f = 0, by_g = 0;
  for (int t = 0; t <= m_; ++t) {
    const int i = member(set, t);
    product[t] = 0;
    if (i < 0) continue;
    by_f += q[t] * f[i], by_g += q[t] * g[i];
    product[t] = q[t] * inverse_diagonal_[size_t(i)];
    const auto end = column_.begin() + start_[size_t(i + 1)];
    auto column = column_.begin() + start_[size_t(i)];
    for (int s = 0; s < t; ++s) {
      if (member(set, s) < 0) continue;
      column = std::lower_bound(column, end, member(set, s));
      if (column == end || *column != member(set, s)) continue;
      const double entry = inverse_[size_t(column - column_.begin())];
      product[t] += q[s] * entry, product[s] += q[t] * entry;
    }
  }
  const double precision = precision_[size_t(set)];
  double square = 0;
  for (int t = 0; t <= m_; ++t) {
    const int i = member(set, t);
    if (i >= 0) product[t] += (by_f - by_g / 2) * f[i] - by_f / 2 * g[i];
    square += q[t] * product[t];
  }
  for (int s = 0; s < m_; ++s) by_weights[slot_[size_t(set * m_ + s)]] = -2 * precision * product[s];
  return 2 - 2 * precision * square;
}

}  // namespace kernops::neighbours
