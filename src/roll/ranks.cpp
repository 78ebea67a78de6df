#include "roll/ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kernops {
namespace {

// Maps doubles to unsigned integers in the same order.
std::uint64_t key_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | std::uint64_t(1) << 63;
}

constexpr int digits = 3, digit_bits = 11, digit_values = 1 << digit_bits;
size_t digit(std::uint64_t item, int d) {
  return item >> (32 + d * digit_bits - (d == digits - 1)) & (digit_values - 1);
}

}  // namespace

// Sorts values by the upper bits of their keys: few values by comparisons, more values by a radix sort of three digits.
void Ranks::sort_by_upper_bits(const double* x, Count n) {
  items_.clear();
  for (Count k = 0; k < n; ++k)
    if (x[k] == x[k]) items_.push_back(key_of(x[k]) >> 32 << 32 | std::uint64_t(k));
  if (items_.size() < 1024) return std::sort(items_.begin(), items_.end());
  std::vector<std::uint32_t> counts(digits * digit_values);
  for (const std::uint64_t item : items_)
    for (int d = 0; d < digits; ++d) ++counts[size_t(d) * digit_values + digit(item, d)];
  other_.resize(items_.size());
  for (int d = 0; d < digits; ++d) {
    std::uint32_t* const place = counts.data() + d * digit_values;
    if (place[digit(items_[0], d)] == items_.size()) continue;
    std::uint32_t before = 0;
    for (int value = 0; value < digit_values; ++value) before += std::exchange(place[value], before);
    for (const std::uint64_t item : items_) other_[place[digit(item, d)]++] = item;
    items_.swap(other_);
  }
}

// Sorts values that have equal upper bits by all of their bits.
void Ranks::sort_equal_bits(const double* x) {
  const auto value = [&](std::uint64_t item) { return x[std::uint32_t(item)]; };
  const auto less = [&](std::uint64_t a, std::uint64_t b) { return value(a) < value(b); };
  const size_t count = items_.size();
  for (size_t begin = 0, end; begin < count; begin = end) {
    bool ordered = true;
    for (end = begin + 1; end < count && items_[end] >> 32 == items_[begin] >> 32; ++end)
      ordered = ordered && !less(items_[end], items_[end - 1]);
    if (!ordered) std::sort(items_.begin() + Count(begin), items_.begin() + Count(end), less);
  }
}

void Ranks::take(const double* x, Count n) {
  sort_by_upper_bits(x, n);
  sort_equal_bits(x);
  rank.assign(size_t(n), none);
  sorted.resize(items_.size());
  for (size_t r = 0; r < items_.size(); ++r) {
    const std::uint32_t k = std::uint32_t(items_[r]);
    sorted[r] = x[k], rank[k] = std::uint32_t(r);
  }
}

}  // namespace kernops
