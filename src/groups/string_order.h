// The order of distinct strings by their bytes.
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
  std::vector<std::uint32_t> order;  // order[k]: the string at position k
  // True if neighbours first differ in two digits, or in a digit that only the later string has: every locale sorts
  // such strings in the same way.
  bool by_digits = true;
};
StringOrder order_of_strings(const std::vector<Text>& texts);

}  // namespace kernops
