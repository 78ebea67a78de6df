#include "neighbours/posterior.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "neighbours/sparse_inverse.h"

namespace kernops::neighbours {

namespace {

size_t triangle(int s, int t) { return s < t ? size_t(t) * (t - 1) / 2 + s : size_t(s) * (s - 1) / 2 + t; }

// Of those that are set, from 0.
int highest_bit(uint64_t bits) {
  int at = 0;
  for (int half = 32; half > 0; half /= 2)
    if (bits >> half) bits >>= half, at += half;
  return at;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

Posterior::Posterior(const PointSets& neighbours)
    : n_(neighbours.count), m_(neighbours.m), at_(neighbours.at, neighbours.at + neighbours.count * neighbours.m) {
  place_.assign(size_t(n_ * pairs()), -1);
  find_pattern();
  entry_.resize(column_.size()), diagonal_.resize(size_t(n_)), inverse_diagonal_.resize(size_t(n_));
}

// A row after the other: the earlier points in the sets that a point is in.
void Posterior::find_pattern() {
  std::vector<Count> start(size_t(n_) + 1);
  for (const int at : at_)
    if (at > 0) ++start[size_t(at)];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<Count> next(start.begin(), start.end() - 1), entries(size_t(start.back()));
  for (size_t k = 0; k < at_.size(); ++k)
    if (at_[k] > 0) entries[size_t(next[size_t(at_[k] - 1)]++)] = Count(k);
  // each(set, slot) for those with point i
  const auto each_set = [&](Count i, const auto& each) {
    each(i, m_);
    for (Count k = start[size_t(i)]; k < start[size_t(i + 1)]; ++k)
      each(entries[size_t(k)] / m_, int(entries[size_t(k)] % m_));
  };
  std::vector<int> found(size_t(n_), -1);
  start_.assign(1, 0);
  for (Count i = 0; i < n_; ++i) {
    each_set(i, [&](Count set, int) {
      for (int s = 0; s <= m_; ++s) {
        const int j = member(set, s);
        if (j >= 0 && j < i && found[size_t(j)] < 0) found[size_t(j)] = 0, column_.push_back(j);
      }
    });
    std::sort(column_.begin() + start_.back(), column_.end());
    if (column_.size() > INT_MAX) throw std::length_error("there are too many points and neighbours");
    for (size_t k = size_t(start_.back()); k < column_.size(); ++k) found[size_t(column_[k])] = int(k);
    each_set(i, [&](Count set, int slot) {
      int* const place = place_.data() + set * pairs();
      for (int s = 0; s <= m_; ++s) {
        const int j = member(set, s);
        if (j >= 0 && j < i) place[triangle(s, slot)] = found[size_t(j)];
      }
    });
    for (size_t k = size_t(start_.back()); k < column_.size(); ++k) found[size_t(column_[k])] = -1;
    start_.push_back(Count(column_.size()));
  }
}

void Posterior::fill(const double* weights, const double* sd) {
  std::fill(entry_.begin(), entry_.end(), 0.0), std::fill(diagonal_.begin(), diagonal_.end(), 0.0);
  const int m = m_;
  Numbers q(size_t(m) + 1);
  for (Count set = 0; set < n_; ++set) {
    const double precision = 1 / (sd[set] * sd[set]);
    for (int s = 0; s < m; ++s) q[size_t(s)] = -weights[set * m + s];
    q[size_t(m)] = 1;
    const int* place = place_.data() + set * pairs();
    for (int t = 0; t <= m; ++t, place += t - 1) {
      const int i = member(set, t);
      if (i < 0) continue;
      const double scaled = q[size_t(t)] * precision;
      diagonal_[size_t(i)] += q[size_t(t)] * scaled;
      for (int s = 0; s < t; ++s)
        if (place[s] >= 0) entry_[size_t(place[s])] += q[size_t(s)] * scaled;
    }
  }
}

// Points are eliminated from the last one. What that adds to pairs outside of the pattern is left out.
Count Posterior::factor(const double* diagonal) {
  factor_ = entry_, pivot_.resize(size_t(n_));
  for (Count i = 0; i < n_; ++i) pivot_[size_t(i)] = diagonal_[size_t(i)] + diagonal[i];
  Numbers row(size_t(n_), 0.0);
  for (Count i = n_ - 1; i >= 0; --i) {
    const double pivot = pivot_[size_t(i)];
    if (!(pivot > 0) || !std::isfinite(pivot)) return i;
    const Count begin = start_[size_t(i)], end = start_[size_t(i + 1)];
    for (Count k = begin; k < end; ++k) row[size_t(column_[size_t(k)])] = factor_[size_t(k)] / pivot;
    for (Count k = begin; k < end; ++k) {
      const size_t j = size_t(column_[size_t(k)]);
      const double own = factor_[size_t(k)];
      pivot_[j] -= own * row[j];
      for (Count e = start_[j]; e < start_[j + 1]; ++e) factor_[size_t(e)] -= own * row[size_t(column_[size_t(e)])];
    }
    for (Count k = begin; k < end; ++k) row[size_t(column_[size_t(k)])] = 0;
  }
  return -1;
}

double Posterior::logdet() const {
  double sum = 0;
  for (const double pivot : pivot_) sum += std::log(pivot);
  return sum;
}

// From the first point on: the inverse of the factor, by the entries in the pattern (Takahashi et al. 1973).
void Posterior::invert() {
  inverse_.resize(column_.size());
  Numbers row(size_t(n_), 0.0), sum;
  std::vector<int> slot(size_t(n_), 0);
  for (Count i = 0; i < n_; ++i) {
    const double pivot = pivot_[size_t(i)];
    const Count begin = start_[size_t(i)], end = start_[size_t(i + 1)];
    sum.assign(size_t(end - begin) + 1, 0.0);  // the first one is of no pair
    for (Count k = begin; k < end; ++k) {
      const size_t j = size_t(column_[size_t(k)]);
      row[j] = factor_[size_t(k)] / pivot, slot[j] = int(k - begin) + 1;
    }
    for (Count k = begin; k < end; ++k) {
      const size_t j = size_t(column_[size_t(k)]);
      const double own = row[j];
      double mine = inverse_diagonal_[j] * own;
      for (Count e = start_[j]; e < start_[j + 1]; ++e) {
        const size_t other = size_t(column_[size_t(e)]);
        mine += inverse_[size_t(e)] * row[other];
        sum[size_t(slot[other])] += inverse_[size_t(e)] * own;
      }
      sum[size_t(slot[j])] += mine;
    }
    double variance = 1 / pivot;
    for (Count k = begin; k < end; ++k) {
      const size_t j = size_t(column_[size_t(k)]);
      inverse_[size_t(k)] = -sum[size_t(k - begin) + 1];
      variance -= inverse_[size_t(k)] * row[j];
    }
    inverse_diagonal_[size_t(i)] = variance;
    for (Count k = begin; k < end; ++k) {
      const size_t j = size_t(column_[size_t(k)]);
      row[j] = 0, slot[j] = 0;
    }
  }
}

void Posterior::times(const double* diagonal, const double* x, double* y) const {
  for (Count i = 0; i < n_; ++i) {
    double own = (diagonal_[size_t(i)] + diagonal[i]) * x[i];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) {
      const int j = column_[size_t(k)];
      own += entry_[size_t(k)] * x[j];
      y[j] += entry_[size_t(k)] * x[i];
    }
    y[i] = own;
  }
}

void Posterior::precondition(const double* r, double* x) const {
  std::copy_n(r, n_, x);
  for (Count i = n_ - 1; i >= 0; --i) {
    const double own = x[i] / pivot_[size_t(i)];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) x[column_[size_t(k)]] -= factor_[size_t(k)] * own;
  }
  for (Count i = 0; i < n_; ++i) {
    double own = x[i];
    for (Count k = start_[size_t(i)]; k < start_[size_t(i + 1)]; ++k) own -= factor_[size_t(k)] * x[column_[size_t(k)]];
    x[i] = own / pivot_[size_t(i)];
  }
}

int Posterior::solve(const double* diagonal, const double* b, double* x, double tol, int most) const {
  Numbers r(b, b + n_), z(size_t(n_), 0.0), p, image(size_t(n_), 0.0);
  const double enough = tol * std::sqrt(dot(r, r));
  times(diagonal, x, image.data());
  for (Count i = 0; i < n_; ++i) r[size_t(i)] -= image[size_t(i)];
  double before = 0;
  for (int step = 0;; ++step) {
    if (std::sqrt(dot(r, r)) <= enough || step == most) return step;
    precondition(r.data(), z.data());
    const double now = dot(r, z);
    if (step == 0)
      p = z;
    else
      for (Count i = 0; i < n_; ++i) p[size_t(i)] = z[size_t(i)] + now / before * p[size_t(i)];
    before = now;
    times(diagonal, p.data(), image.data());
    const double length = now / dot(p, image);
    if (!std::isfinite(length)) return most;
    for (Count i = 0; i < n_; ++i) x[i] += length * p[size_t(i)], r[size_t(i)] -= length * image[size_t(i)];
  }
}

// The squared length of what the factor makes of the weights, which are 0 but for few points: from these it reaches
// earlier ones only, and those whose part is `nothing` pass nothing on. No sum depends on those beside it.
void Posterior::variances_of_sums(const PointSets& sets, const double* weights, const Count* which, int count,
                                  Scratch& scratch, double* to) const {
  constexpr double nothing = 1e-18;
  double* const value = scratch.value.data();
  const auto reach = [&](size_t j) { scratch.reached[j / 64] |= uint64_t(1) << (j % 64); };
  size_t word = 0;
  for (int lane = 0; lane < count; ++lane)
    for (Count k = which[lane] * sets.m; k < (which[lane] + 1) * sets.m; ++k) {
      if (sets.at[k] == 0) continue;
      const size_t j = size_t(sets.at[k]) - 1;
      value[j * lanes + size_t(lane)] += weights[k], reach(j), word = std::max(word, j / 64 + 1);
    }
  double sum[lanes] = {}, share[lanes];
  while (word-- > 0)
    while (scratch.reached[word]) {
      const size_t i = 64 * word + highest_bit(scratch.reached[word]);
      scratch.reached[word] ^= uint64_t(1) << (i % 64);
      double* const own = value + i * lanes;
      const double scale = 1 / pivot_[i];
      bool any = false;
      for (int lane = 0; lane < lanes; ++lane) {
        const double part = own[lane] * own[lane] * scale;
        sum[lane] += part;
        share[lane] = part < nothing * sum[lane] ? 0 : own[lane] * scale;
        any |= share[lane] != 0, own[lane] = 0;
      }
      for (Count k = start_[i]; any && k < start_[i + 1]; ++k) {
        const size_t j = size_t(column_[size_t(k)]);
        const double entry = factor_[size_t(k)];
        double* const at = value + j * lanes;
        for (int lane = 0; lane < lanes; ++lane) at[lane] -= entry * share[lane];
        reach(j);
      }
    }
  for (int lane = 0; lane < count; ++lane) to[which[lane]] = sum[lane];
}

double Posterior::contrast(const double* weights, const double* sd, const double* f, const double* g) const {
  const int m = m_;
  Numbers q(size_t(m) + 1);
  double total = 0;
  for (Count set = 0; set < n_; ++set) {
    for (int s = 0; s < m; ++s) q[size_t(s)] = -weights[set * m + s];
    q[size_t(m)] = 1;
    const int* place = place_.data() + set * pairs();
    double by_f = 0, by_g = 0, square = 0;
    for (int t = 0; t <= m; ++t, place += t - 1) {
      const int i = member(set, t);
      if (i < 0) continue;
      by_f += q[size_t(t)] * f[i], by_g += q[size_t(t)] * g[i];
      double sum = q[size_t(t)] * inverse_diagonal_[size_t(i)];
      for (int s = 0; s < t; ++s)
        if (place[s] >= 0) sum += 2 * q[size_t(s)] * inverse_[size_t(place[s])];
      square += sum * q[size_t(t)];
    }
    const double variance = sd[set] * sd[set];
    total += (by_f * by_f - by_f * by_g + square) / variance + std::log(variance);
  }
  return total;
}

}  // namespace kernops::neighbours
