// The factorisation of a posterior precision, and the entries of the inverse.
#include <algorithm>
#include <cmath>

#include "neighbours/posterior.h"
#include "run/rows.h"

namespace kernops::neighbours {

// A row while it is computed: the slot of each point of the row, and the values of the slots. Points that are not in
// the row have slot 0.
struct Posterior::OpenRow {
  OpenRow(Count points, Count longest) : slot(size_t(points), 0), sum(size_t(longest + lanes)), share(sum) {}
  void open(const int* column, Count length) {
    for (Count k = 0; k < length; ++k) slot[size_t(column[k])] = int(k) + lanes;
    std::fill_n(sum.begin(), length + lanes, 0.0);
  }
  void close(const int* column, Count length) {
    for (Count k = 0; k < length; ++k) slot[size_t(column[k])] = 0;
  }
  // sum[slot[column[k]]] += factor * value[k] for k = 0 .. length - 1. Consecutive columns without a slot use different
  // elements of `sum`, because successive additions to one element would have to wait for each other.
  void add(double factor, const int* column, const double* value, Count length) {
    double* const to = sum.data();
    Count k = 0;
    for (; k + lanes <= length; k += lanes, column += lanes, value += lanes) {
      const size_t a = slot_of(column[0], 0), b = slot_of(column[1], 1), c = slot_of(column[2], 2),
                   d = slot_of(column[3], 3);
      const double x = factor * value[0], y = factor * value[1], z = factor * value[2], w = factor * value[3];
      to[a] += x, to[b] += y, to[c] += z, to[d] += w;
    }
    for (; k < length; ++k) to[slot_of(*column++, 0)] += factor * *value++;
  }
  // Updates `sum` like add(), and returns the sum of value[k] * share[slot[column[k]]].
  double add_both(double factor, const int* column, const double* value, Count length) {
    double *const to = sum.data(), *const from = share.data();
    double first = 0, second = 0, third = 0, fourth = 0;
    Count k = 0;
    for (; k + lanes <= length; k += lanes, column += lanes, value += lanes) {
      const size_t a = slot_of(column[0], 0), b = slot_of(column[1], 1), c = slot_of(column[2], 2),
                   d = slot_of(column[3], 3);
      const double x = value[0], y = value[1], z = value[2], w = value[3];
      first += x * from[a], second += y * from[b], third += z * from[c], fourth += w * from[d];
      to[a] += factor * x, to[b] += factor * y, to[c] += factor * z, to[d] += factor * w;
    }
    for (; k < length; ++k, ++column, ++value) {
      const size_t a = slot_of(*column, 0);
      first += *value * from[a], to[a] += factor * *value;
    }
    return (first + second) + (third + fourth);
  }
  double* sums() { return sum.data() + lanes; }
  double* shares() { return share.data() + lanes; }

 private:
  static constexpr int lanes = 4;
  size_t slot_of(int column, int lane) const { return size_t(std::max(slot[size_t(column)], lane)); }
  std::vector<int> slot;  // 0, or at least `lanes`
  std::vector<double> sum, share;
};

std::vector<Posterior::OpenRow> Posterior::open_rows(const Settings& settings) const {
  Count longest = 0;
  for (size_t i = 1; i < start_.size(); ++i) longest = std::max(longest, start_[i] - start_[i - 1]);
  return std::vector<OpenRow>(size_t(row_workers(n_, settings)), OpenRow(n_, longest));
}

// Computes the incomplete factor: eliminates points from the last to the first, and drops fill-in outside the pattern.
bool Posterior::factor(const double* diagonal, const Settings& settings) {
  factor_.resize(column_.size()), later_factor_.resize(column_.size()), pivot_.resize(size_t(n_));
  if (!has_entries_) set_entries(settings);
  for (size_t t = 0; t < across_.size(); ++t) inverse_[size_t(effect_place_[t])] = across_[t];
  for (size_t t = 0; t < within_entry_.size(); ++t)
    if (within_place_[t] >= 0) inverse_[size_t(within_place_[t])] = within_entry_[t];
  std::vector<OpenRow> rows = open_rows(settings);
  std::atomic<bool> positive{true};
  rows_in_order(n_ - head_, settings, [&](Count number, Count worker, const auto& after) {
    if (!positive) return;
    const Count i = n_ - 1 - number;
    wait_for_later(i, after);
    if (!eliminate(i, diagonal[i], rows[size_t(worker)])) positive = false;
  });
  if (!positive) return false;
  if (!head_) return factor_border(settings);
  each_row(head_, 16, settings, [&](Count e, Count worker) { eliminate(e, diagonal[e], rows[size_t(worker)]); });
  std::vector<double> within;
  within.reserve(size_t(within_->pattern_entries()));
  each_of_head([&](Count e) { within.push_back(pivot_[size_t(e)]); },
               [&](size_t at) { within.push_back(factor_[at]); });
  return within_->factor(within.data(), settings) && factor_border(settings);
}

// Eliminates row i. For rows of the head, only computes the entries of the Schur complement.
bool Posterior::eliminate(Count i, double diagonal, OpenRow& row) {
  const Count begin = start_[size_t(i)], length = start_[size_t(i + 1)] - begin;
  row.open(column_.data() + begin, length);
  double pivot = diagonal_[size_t(i)] + diagonal;
  for (Count t = later_points(i); t < later_start_[size_t(i + 1)]; ++t) {
    const Count later = later_[size_t(t)], at = later_at_[size_t(t)];
    const double own = factor_[size_t(at)], share = own / pivot_[size_t(later)];
    later_factor_[size_t(t)] = share, pivot -= own * share;
    const Count first = start_[size_t(later)];
    row.add(share, column_.data() + first, factor_.data() + first, at - first);
  }
  pivot_[size_t(i)] = pivot;
  const double* const sum = row.sums();
  for (Count k = 0; k < length; ++k) factor_[size_t(begin + k)] = inverse_[size_t(begin + k)] - sum[k];
  row.close(column_.data() + begin, length);
  return pivot > 0 && std::isfinite(pivot);
}

double Posterior::logdet() const {
  double sum = (head_ ? within_->logdet() : 0) + logdet_border();
  for (size_t i = size_t(head_); i < pivot_.size(); ++i) sum += std::log(pivot_[i]);
  return sum;
}

// Computes the entries of the inverse that are in the pattern, from the first point to the last (Takahashi et al.
// 1973).
void Posterior::invert(const Settings& settings) {
  has_entries_ = false;
  std::vector<OpenRow> rows = open_rows(settings);
  invert_head(settings), invert_border(settings);
  rows_in_order(n_, settings, [&](Count i, Count worker, const auto& after) {
    if (i < head_) return;
    const Count begin = start_[size_t(i)], length = start_[size_t(i + 1)] - begin;
    const double pivot = pivot_[size_t(i)];
    OpenRow& row = rows[size_t(worker)];
    row.open(column_.data() + begin, length);
    wait_for_earlier(i, after);
    double *const sum = row.sums(), *const share = row.shares();
    for (Count k = 0; k < length; ++k) share[k] = factor_[size_t(begin + k)] / pivot;
    for (Count k = 0; k < length; ++k) {
      const size_t j = size_t(column_[size_t(begin + k)]);
      const Count first = start_[j];
      sum[k] += inverse_diagonal_[j] * share[k] +
                row.add_both(share[k], column_.data() + first, inverse_.data() + first, start_[j + 1] - first);
    }
    double variance = 1 / pivot + invert_row_beside(i, sum);
    for (Count k = 0; k < length; ++k) {
      inverse_[size_t(begin + k)] = -sum[k];
      variance += sum[k] * share[k];
    }
    inverse_diagonal_[size_t(i)] = variance;
    row.close(column_.data() + begin, length);
  });
}

void Posterior::invert_head(const Settings& settings) {
  if (!head_) return;
  std::vector<double> within(size_t(within_->pattern_entries()));
  within_->invert(within.data(), settings);
  size_t entry = 0;
  each_of_head([&](Count e) { inverse_diagonal_[size_t(e)] = within[entry++]; },
               [&](size_t at) { inverse_[at] = within[entry++]; });
}

void Posterior::sum_points(const PointSets& sets, const double* weights, double nothing, const Settings& settings,
                           double* to, double* parts) const {
  std::vector<int> at(sets.at, sets.at + sets.count * sets.m);
  for (int& point : at)
    if (point > 0) point = int(rows().position(size_t(point) - 1)) + 1;
  const PointSets ordered{at.data(), sets.count, sets.m};
  variances_of_all_sums(Rows{*this, nothing}, length(), ordered, weights, alike_together(ordered, settings), settings,
                        to, parts);
}

}  // namespace kernops::neighbours
