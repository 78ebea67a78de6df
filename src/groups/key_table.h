// Numbers the distinct keys in the order of their first appearance. A key is a word of 64 bits: a number, or the
// address of a string, which R keeps once for each encoding.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/data.h"
#include "run/huge_pages.h"

namespace kernops {

class KeyTable {
 public:
  explicit KeyTable(Count most) : most_(most) { resize(1 << 10); }

  // codes[n] becomes the number of key(n, word), from 0, or `none` where key() is false.
  template <class Key> void number(Count n, const Key& key, int none, int* codes) {
    for (Count first = 0; first < n; first += tile) {
      const Count count = std::min(tile, n - first);
      slots_.size() <= near ? number_near(first, count, key, none, codes) : number_far(first, count, key, none, codes);
    }
  }

  const std::vector<std::uint32_t>& firsts() const { return firsts_; }  // where each key appears first
  Count count() const { return Count(firsts_.size()); }

 private:
  static constexpr Count tile = 256;
  static constexpr size_t near = 1 << 12;  // slots that a processor keeps near

  struct Slot {
    std::uint64_t word;
    std::uint32_t number;  // from 1; 0: the slot is free
  };

  // The part that a search reads, in registers while codes are written.
  struct View {
    const Slot* slots;
    size_t last;
    int shift;
    size_t slot_of(std::uint64_t word) const { return size_t(((word ^ word >> 32) * 0x9E3779B97F4A7C15) >> shift); }
  };
  View view() const { return {slots_.data(), slots_.size() - 1, shift_}; }

  template <class Key> void number_near(Count first, Count count, const Key& key, int none, int* codes) {
    View table = view();
    for (Count k = first; k < first + count; ++k) {
      std::uint64_t word = 0;
      const bool there = key(k, word);
      const Slot& slot = table.slots[table.slot_of(word)];
      codes[k] = !there ? none : slot.word == word && slot.number != 0 ? int(slot.number) - 1 : find(table, word, k);
    }
  }
  // Slots are fetched a tile ahead.
  template <class Key> void number_far(Count first, Count count, const Key& key, int none, int* codes) {
    std::uint64_t words[tile];
    bool there[tile];
    View table = view();
    for (Count k = 0; k < count; ++k) {
      words[k] = 0, there[k] = key(first + k, words[k]);
      __builtin_prefetch(table.slots + table.slot_of(words[k]));
    }
    for (Count k = 0; k < count; ++k) codes[first + k] = there[k] ? find(table, words[k], first + k) : none;
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
    if (2 * firsts_.size() > slots_.size()) grow();
    return number;
  }
  // The table grows to more than twice its size where it must hold many keys.
  void grow() {
    LargeVector<Slot> before;
    before.swap(slots_);
    resize(before.size() * (before.size() < near ? 8 : Count(before.size()) > most_ / 16 ? 2 : 4));
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

  const Count most_;  // keys
  int shift_ = 0;
  LargeVector<Slot> slots_;
  std::vector<std::uint32_t> firsts_;
};

}  // namespace kernops
