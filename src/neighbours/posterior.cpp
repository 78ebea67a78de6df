#include "neighbours/posterior.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "neighbours/sparse_inverse.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 256;  // rows

}  // namespace

Posterior::Posterior(const PointSets& neighbours, ObservedEffects effects, const Settings& settings)
    : n_(neighbours.count),
      m_(neighbours.m),
      effects_(std::move(effects)),
      at_(size_t(n_ * m_)),
      given_(at_.size()),
      weights_(at_.size()) {
  if (at_.size() > INT_MAX) throw std::length_error("there are too many points and neighbours");
  each_row(n_, unit, settings, [&](Count set, Count) {
    const int* const own = neighbours.at + set * m_;
    int* const given = given_.data() + set * m_;
    std::iota(given, given + m_, 0);
    std::sort(given, given + m_, [&](int a, int b) { return own[a] < own[b]; });
    for (int s = 0; s < m_; ++s) at_[size_t(set * m_ + s)] = own[given[s]];
  });
  set_start_.resize(size_t(n_) + 1), set_entry_.resize(at_.size());
  find_columns(at_.data(), n_, m_, set_start_.data(), set_entry_.data());
  find_pattern(settings), find_later();
  entry_.resize(column_.size()), diagonal_.resize(size_t(n_)), inverse_diagonal_.resize(size_t(n_));
  effect_place_.resize(effects_.column.size());
  for (Count i = 0; effects_.count && i < n_; ++i)
    for (int t = effects_.start[size_t(i)]; t < effects_.start[size_t(i + 1)]; ++t)
      effect_place_[size_t(t)] = int(place_of(i, effects_.column[size_t(t)]));
}

Count Posterior::place_of(Count i, int effect) const {
  const auto row = column_.begin() + start_[size_t(i)], end = column_.begin() + start_[size_t(i + 1)];
  return std::lower_bound(row, end, effect) - column_.begin();
}

double Posterior::covariance(Count i, int effect) const {
  if (i == effect) return inverse_diagonal_[size_t(i)];
  if (i >= effects_.count) return inverse_[size_t(place_of(i, effect))];
  return inverse_[size_t(start_[size_t(std::max<Count>(i, effect))] + std::min<Count>(i, effect))];
}

// Rows have the earlier points in the sets that a point is in, and the effects that are observed with points of sets.
void Posterior::find_pattern(const Settings& settings) {
  std::vector<std::vector<int>> columns(size_t(ceil_div(n_, unit)));
  std::vector<std::vector<int>> found(size_t(row_workers(n_, settings)), std::vector<int>(size_t(n_), -1));
  start_.assign(size_t(n_) + 1, 0);
  each_row(n_, unit, settings, [&](Count i, Count worker) {
    std::vector<int>&own = columns[size_t(i / unit)], &seen = found[size_t(worker)];
    const size_t before = own.size();
    const auto add = [&](int j) {
      if (j >= 0 && seen[size_t(j)] != i) seen[size_t(j)] = int(i), own.push_back(j);
    };
    each_set(i, [&](Count set, int slot) {
      for (int s = 0; s < slot; ++s) add(member(set, s));
      for (int t = first_effect(set); t < first_effect(set + 1); ++t) add(effects_.column[size_t(t)]);
    });
    for (int j = 0; i < effects_.count && j < i; ++j) add(j);
    std::sort(own.begin() + std::ptrdiff_t(before), own.end());
    start_[size_t(i + 1)] = Count(own.size() - before);
  });
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  if (start_.back() > INT_MAX) throw std::length_error("there are too many points and neighbours");
  column_.resize(size_t(start_.back())), place_.assign(size_t(n_ * pairs()), -1);
  each_row(n_, unit, settings, [&](Count i, Count worker) {
    const int* const own = columns[size_t(i / unit)].data() - start_[size_t(i / unit * unit)];
    std::vector<int>& at = found[size_t(worker)];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k)
      column_[size_t(k)] = own[k], at[size_t(own[k])] = int(k);
    each_set(i, [&](Count set, int slot) {
      int* const place = place_.data() + set * pairs() + before(slot);
      for (int s = 0; s < slot; ++s)
        if (member(set, s) >= 0) place[s] = at[size_t(member(set, s))];
    });
  });
}

// A counting sort.
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
  precision_.resize(size_t(n_)), by_column_.resize(at_.size());
  each_row(n_, unit, settings, [&](Count set, Count) {
    precision_[size_t(set)] = 1 / (sd[set] * sd[set]);
    for (Count k = set * m_; k < (set + 1) * m_; ++k) weights_[size_t(k)] = weights[set * m_ + given_[size_t(k)]];
  });
  each_row(n_, unit, settings, [&](Count i, Count) {
    std::fill(entry_.begin() + start_[size_t(i)], entry_.begin() + start_[size_t(i + 1)], 0.0);
    double variance = 0;
    each_set(i, [&](Count set, int slot) {
      const double* const own = weights_.data() + set * m_;
      const double contrast = slot < m_ ? -own[slot] : 1, scaled = contrast * precision_[size_t(set)];
      variance += contrast * scaled;
      const int* const place = place_.data() + set * pairs() + before(slot);
      for (int s = 0; s < slot; ++s)
        if (place[s] >= 0) entry_[size_t(place[s])] -= own[s] * scaled;
    });
    diagonal_[size_t(i)] = variance;
    for (Count k = Count(set_start_[size_t(i)]); k < Count(set_start_[size_t(i + 1)]); ++k)
      by_column_[size_t(k)] = weights_[size_t(set_entry_[size_t(k)])];
  });
}

void Posterior::observe(const double* across, const double* within) {
  for (size_t t = 0; t < effect_place_.size(); ++t) entry_[size_t(effect_place_[t])] = across[t];
  for (Count e = 0; e < effects_.count; ++e)
    std::copy_n(within + e * effects_.count, e, entry_.begin() + start_[size_t(e)]);
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
  const int* place = place_.data() + set * pairs();
  double by_f = 0, by_g = 0;
  for (int t = 0; t <= m_; ++t, place += t - 1) {
    const int i = member(set, t);
    product[t] = 0;
    if (i < 0) continue;
    by_f += q[t] * f[i], by_g += q[t] * g[i];
    product[t] = q[t] * inverse_diagonal_[size_t(i)];
    for (int s = 0; s < t; ++s) {
      if (place[s] < 0) continue;
      const double entry = inverse_[size_t(place[s])];
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
  for (int s = 0; s < m_; ++s) by_weights[given_[size_t(set * m_ + s)]] = -2 * precision * product[s];
  return 2 - 2 * precision * square;
}

}  // namespace kernops::neighbours
