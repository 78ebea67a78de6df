// The ranks of the values of a part of a segment, and the set of ranks in a window.
#pragma once
#include <cstdint>
#include <vector>

#include "run/data.h"

namespace kernops {

// The ranks of the values of a part of a segment. Value n has rank[n] among the values that are not NaN; the rank of a
// NaN is `none`. sorted[rank[n]] equals value n. The memory is reused between calls.
class Ranks {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t(0);
  void take(const double* x, Count n);
  std::vector<std::uint32_t> rank;
  std::vector<double> sorted;

 private:
  void sort_by_upper_bits(const double* x, Count n);
  void sort_equal_bits(const double* x);
  std::vector<std::uint64_t> items_, other_;  // the upper 32 bits of the ordered key, then the number of the value
};

// The set of ranks in a window: one bit per rank, and a second level with one bit per word of the first level, which is
// set if the word is not 0.
class RankSet {
 public:
  explicit RankSet(Count ranks) : words_(size_t(ranks / 64 + 1)), summary_(words_.size() / 64 + 1) {}
  void insert(size_t r) {
    words_[r / 64] |= bit(r);
    summary_[r / 4096] |= bit(r / 64);
    ++count_;
  }
  void erase(size_t r) {
    words_[r / 64] &= ~bit(r);
    if (words_[r / 64] == 0) summary_[r / 4096] &= ~bit(r / 64);
    --count_;
  }
  Count count() const { return count_; }

  // next(r) returns the first member >= r, and previous(r) the last member < r; the member must exist.
  size_t next(size_t r) const {
    if (const std::uint64_t rest = words_[r / 64] & ~below(r)) return r / 64 * 64 + first_bit(rest);
    size_t word = r / 64, group = word / 64;
    std::uint64_t rest = summary_[group] & ~below(word) & ~bit(word);
    while (rest == 0) rest = summary_[++group];
    word = group * 64 + first_bit(rest);
    return word * 64 + first_bit(words_[word]);
  }
  size_t previous(size_t r) const {
    if (const std::uint64_t rest = words_[r / 64] & below(r)) return r / 64 * 64 + last_bit(rest);
    size_t word = r / 64, group = word / 64;
    std::uint64_t rest = summary_[group] & below(word);
    while (rest == 0) rest = summary_[--group];
    word = group * 64 + last_bit(rest);
    return word * 64 + last_bit(words_[word]);
  }

 private:
  static std::uint64_t bit(size_t n) { return std::uint64_t(1) << n % 64; }
  static std::uint64_t below(size_t n) { return bit(n) - 1; }
  static size_t first_bit(std::uint64_t word) { return size_t(__builtin_ctzll(word)); }
  static size_t last_bit(std::uint64_t word) { return size_t(63 - __builtin_clzll(word)); }
  std::vector<std::uint64_t> words_, summary_;
  Count count_ = 0;
};

}  // namespace kernops
