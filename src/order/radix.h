// Sorts numbers other than NaN. Small samples are sorted by insertion, medium-sized samples by comparisons, and large
// samples by a radix sort of their bits, from the least significant digit.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "order/sample.h"

namespace kernops {

// Maps a double to an unsigned integer in the same order; 0 and -0 are equal.
inline std::uint64_t order_key(double x) {
  const double value = x + 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ (bits >> 63 ? ~std::uint64_t(0) : std::uint64_t(1) << 63);
}

inline double value_of(double x) { return x; }
inline double value_of(const Placed& placed) { return placed.x; }

inline bool comes_first(double, double) { return false; }
inline bool comes_first(const Placed& a, const Placed& b) { return a.place < b.place; }

template <class Item> void insert_in_order(Item* x, Count n, bool decreasing) {
  for (Count k = 1; k < n; ++k) {
    const Item item = x[k];
    Count m = k;
    for (; m > 0 && (decreasing ? value_of(x[m - 1]) < value_of(item) : value_of(item) < value_of(x[m - 1])); --m)
      x[m] = x[m - 1];
    x[m] = item;
  }
}

// Radix sort by digits of `width` bits.
template <int width, class Item> void sort_by_bits(Item* x, Count n, bool decreasing, std::vector<Item>& memory) {
  constexpr int digits = (64 + width - 1) / width, buckets = 1 << width;
  std::vector<Count> all(digits * buckets, 0);
  Count* const counts = all.data();
  const std::uint64_t flip = decreasing ? ~std::uint64_t(0) : 0;
  const auto key = [=](const Item& item) { return order_key(value_of(item)) ^ flip; };
  for (Count k = 0; k < n; ++k) {
    const std::uint64_t bits = key(x[k]);
    for (int d = 0; d < digits; ++d) ++counts[d * buckets + (bits >> width * d & (buckets - 1))];
  }
  if (Count(memory.size()) < n) memory.resize(size_t(n));
  Item *from = x, *to = memory.data();
  for (int d = 0; d < digits; ++d) {
    Count* const next = counts + d * buckets;
    const auto digit = [=](const Item& item) { return key(item) >> width * d & (buckets - 1); };
    if (next[digit(from[0])] == n) continue;
    for (Count b = 0, before = 0; b < buckets; ++b) before += std::exchange(next[b], before);
    for (Count k = 0; k < n; ++k) to[next[digit(from[k])]++] = from[k];
    std::swap(from, to);
  }
  if (from != x) std::copy_n(from, n, x);
}

// Sorts numbers; equal numbers stay in the order of their positions.
template <class Item> void sort_numbers(Item* x, Count n, bool decreasing, std::vector<Item>& memory) {
  constexpr Count few = 24, many = 512, very_many = 32768;
  const auto before = [=](const Item& a, const Item& b) {
    const double x = value_of(a), y = value_of(b);
    return (decreasing ? y < x : x < y) || (x == y && comes_first(a, b));
  };
  if (n <= few)
    insert_in_order(x, n, decreasing);
  else if (n < many)
    std::sort(x, x + n, before);
  else
    n < very_many ? sort_by_bits<8>(x, n, decreasing, memory) : sort_by_bits<11>(x, n, decreasing, memory);
}

}  // namespace kernops
