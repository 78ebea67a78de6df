// A hash table that numbers distinct keys in the order of their first appearance. A key is a 64-bit word: a number, or
// the address of a string (R stores a string once for each encoding).
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/data.h"
#include "run/huge_pages.h"

namespace kernops {

class KeyTable {
 public:
  KeyTable() { resize(1 << 10); }

  // Sets codes[n] to the number of the key of value n, from 0. key(n, word) writes the key to `word`. If key() returns
  // false, the value has no key, and codes[n] is `none`.
  template <class Key> void number(Count n, const Key& key, int none, int* codes) {
    constexpr Count tile = 4096;
    for (Count first = 0; first < n; first += tile) {
      const Count last = std::min(n, first + tile);
      slots_.size() <= near ? number<false>(first, last, key, none, codes)
                            : number<true>(first, last, key, none, codes);
    }
  }

  const std::vector<std::uint32_t>& firsts() const { return firsts_; }  // position of the first value of each key
  Count count() const { return Count(firsts_.size()); }

 private:
  static constexpr size_t near = 1 << 12;  // number of slots that stay in the cache of a processor

  struct Slot {
    std::uint64_t word;
    std::uint32_t number;  // number of the key, from 1; 0 if the slot is free
  };

  // A search reads this copy of some members, because the copy can stay in registers while codes are written.
  struct View {
    const Slot* slots;
    size_t last;
    int shift;
    size_t slot_of(std::uint64_t word) const { return size_t(((word ^ word >> 32) * 0x9E3779B97F4A7C15) >> shift); }
  };
  View view() const { return {slots_.data(), slots_.size() - 1, shift_}; }

  // Sets codes[n] to the number of the key of value n, for the values `first` .. `last` - 1. If the table is too large
  // for the cache (`far`), the slots of later keys are prefetched.
  template <bool far, class Key> void number(Count first, Count last, const Key& key, int none, int* codes) {
    constexpr Count ahead = 32;
    View table = view();
    for (Count k = first; k < last; ++k) {
      std::uint64_t word = 0, later = 0;
      if (far && k + ahead < last && key(k + ahead, later)) __builtin_prefetch(table.slots + table.slot_of(later));
      const bool there = key(k, word);
      const Slot& slot = table.slots[table.slot_of(word)];
      codes[k] = !there ? none : slot.word == word && slot.number != 0 ? int(slot.number) - 1 : find(table, word, k);
    }
  }

  int find(View& table, std::uint64_t word, Count place) {
    for (size_t k = table.slot_of(word);; k = (k + 1) & table.last) {
      const Slot& slot = table.slots[k];
      if (slot.number != 0 && slot.word == word) return int(slot.number) - 1;
      if (slot.number != 0) continue;
      const int number = insert(word, place, k);
      table = view();
      return number;
    }
  }
  int insert(std::uint64_t word, Count place, size_t k) {
    firsts_.push_back(std::uint32_t(place));
    const int number = int(firsts_.size()) - 1;
    slots_[k] = {word, std::uint32_t(number) + 1};
    if (2 * firsts_.size() > slots_.size()) grow(place);
    return number;
  }
  // Enlarges the table: eight times if nearly every value so far had a new key, otherwise twice.
  void grow(Count values) {
    LargeVector<Slot> before;
    before.swap(slots_);
    resize(before.size() * (4 * values > 5 * count() ? 2 : 8));
    for (const Slot& slot : before) {
      if (slot.number == 0) continue;
      size_t k = view().slot_of(slot.word);
      while (slots_[k].number) k = (k + 1) & (slots_.size() - 1);
      slots_[k] = slot;
    }
  }
  void resize(size_t size) {
    slots_.resize(size);
    std::fill(slots_.begin(), slots_.end(), Slot{0, 0});
    for (shift_ = 64; size > 1; size /= 2) --shift_;
  }

  int shift_ = 0;
  LargeVector<Slot> slots_;
  std::vector<std::uint32_t> firsts_;
};

}  // namespace kernops
