// Sorts distinct strings by their bytes.
#pragma once
#include <cstdint>
#include <vector>

#include "run/data.h"

namespace kernops {

struct Text {
  const char* bytes;
  Count length;
};

struct StringOrder {
  std::vector<std::uint32_t> order;  // order[k]: the number of the string at position k
  // True if, in all pairs of adjacent strings, the first difference is between two digits, or is a digit after the end
  // of the earlier string. Such strings have the same order in every locale.
  bool by_digits = true;
};
StringOrder order_of_strings(const std::vector<Text>& texts);

}  // namespace kernops
