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
  // True if adjacent strings first differ in two digits, or in a digit that only the later string has. Such strings
  // have the same order in every locale.
  bool by_digits = true;
};
StringOrder order_of_strings(const std::vector<Text>& texts);

}  // namespace kernops
