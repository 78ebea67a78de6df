// Sorts strings by words of eight bytes; strings with the same word are sorted by the next word.
#include "groups/string_order.h"

#include <algorithm>
#include <utility>

namespace kernops {
namespace {

struct Item {
  std::uint64_t word;
  std::uint32_t text;
};

bool is_digit(std::uint64_t byte) { return byte >= '0' && byte <= '9'; }

class Sorter {
 public:
  Sorter(const std::vector<Text>& texts, StringOrder& result) : texts_(texts), result_(result), items_(texts.size()) {
    for (size_t n = 0; n < items_.size(); ++n) items_[n].text = std::uint32_t(n);
    spare_.resize(items_.size());
  }

  void sort(Item* first, Item* last, Count depth) {
    read_words(first, last, depth);
    if (last - first > 256)
      sort_by_bytes(first, last - first);
    else
      std::sort(first, last, [](const Item& a, const Item& b) { return a.word < b.word; });
    for (Item *begin = first, *end; begin != last; begin = end) {
      for (end = begin + 1; end != last && end->word == begin->word;) ++end;
      if (begin != first) note_difference(begin[-1].word, begin->word);
      if (end - begin > 1 && begin->word & 255) sort(begin, end, depth + 8);
      // strings with equal bytes are distinct only by their encodings
      if (end - begin > 1 && !(begin->word & 255)) result_.by_digits = false;
    }
  }
  void run(Count prefix) {
    sort(items_.data(), items_.data() + items_.size(), prefix);
    for (const Item& item : items_) result_.order.push_back(item.text);
  }

 private:
  // Reads bytes `depth` .. depth + 7 of each string into a word, the first byte highest; bytes after the end are 0.
  void read_words(Item* first, Item* last, Count depth) const {
    constexpr Count ahead = 16;
    for (Item* item = first; item != last; ++item) {
      if (last - item > ahead) __builtin_prefetch(texts_[item[ahead].text].bytes + depth);
      const Text& text = texts_[item->text];
      const Count length = std::min<Count>(8, text.length - depth);
      std::uint64_t word = 0;
      for (Count k = 0; k < length; ++k)
        word |= std::uint64_t(static_cast<unsigned char>(text.bytes[depth + k])) << (56 - 8 * k);
      item->word = word;
    }
  }

  // Radix sort by the bytes of the words, from the last to the first; bytes that are equal in all words are skipped.
  void sort_by_bytes(Item* const x, Count n) {
    std::vector<Count> counts(8 * 256, 0);
    for (Count k = 0; k < n; ++k)
      for (int d = 0; d < 8; ++d) ++counts[size_t(d * 256) + (x[k].word >> 8 * d & 255)];
    Item *from = x, *to = spare_.data();
    for (int d = 0; d < 8; ++d) {
      Count* const next = counts.data() + d * 256;
      if (next[from[0].word >> 8 * d & 255] == n) continue;
      for (Count b = 0, before = 0; b < 256; ++b) before += std::exchange(next[b], before);
      for (Count k = 0; k < n; ++k) to[next[from[k].word >> 8 * d & 255]++] = from[k];
      std::swap(from, to);
    }
    if (from != x) std::copy_n(from, n, x);
  }

  void note_difference(std::uint64_t before, std::uint64_t after) {
    int shift = 56;
    while ((before >> shift & 255) == (after >> shift & 255)) shift -= 8;
    const std::uint64_t a = before >> shift & 255, b = after >> shift & 255;
    if (!is_digit(b) || !(a == 0 || is_digit(a))) result_.by_digits = false;
  }

  const std::vector<Text>& texts_;
  StringOrder& result_;
  std::vector<Item> items_, spare_;
};

// The number of leading bytes that all strings share.
Count common_prefix(const std::vector<Text>& texts) {
  Count length = texts.empty() ? 0 : texts[0].length;
  for (const Text& text : texts) {
    Count k = 0;
    while (k < std::min(length, text.length) && text.bytes[k] == texts[0].bytes[k]) ++k;
    length = k;
  }
  return length;
}

}  // namespace

StringOrder order_of_strings(const std::vector<Text>& texts) {
  StringOrder result;
  Sorter(texts, result).run(common_prefix(texts));
  return result;
}

}  // namespace kernops
