// What the size column of ops.def says, in words.
#include "formula/op_table.h"

namespace kernops {

std::string rule_of(const std::string& size) {
  static const struct { const char *part, *words; } rules[] = {
      {"p + A <= q", "a position within the result"},
      {"0 <= q && q < p", "a scalar, and a position within the result (from 0)"},
      {"p < A", "a position within its argument (from 0)"},
      {"<= A", "a position within its argument (from 0)"},
      {"A == B * B", "one weight, one for each entry, or a square matrix of them, and vectors of the same size"},
      {"p <= 16 ? same(", "arguments of equal size (or of size 1), and an order from 0 to 16"},
      {"same(", "arguments of equal size (or of size 1)"},
      {"B % 2 == 0 && (A == 1", "a real number for each complex one, or one of them for all"},
      {"A == 2 && B % 2 == 0", "a complex number (2 entries), and interleaved real and imaginary parts"},
      {"A == 2 && p % 2 == 0", "a complex number (2 entries), and an even size"},
      {"A % 2 == 0", "interleaved real and imaginary parts, of equal sizes"},
      {"p == 0 && A > 1", "an order of at least 0, at least order + 2 knots, and a scalar"},
      {"p > 0 && A % p == 0", "matrices, of so many columns and so many rows"},
      {"A % (p * q) == 0", "matrices of that shape, one after the other"},
      {"A % B == 0", "a matrix of as many columns as the vector has entries"},
      {"B % A == 0", "a matrix of as many rows as the vector has entries"},
      {"-1000 <= p", "an order from -1000 to 1000"},
      {"p <= 1000", "an order from 0 to 1000"},
      {"p <= 16", "an order from 0 to 16"},
      {"p != 0", "a number other than 0"},
      {"A == 1 ? p", "a scalar, and a size of at least 1"},
      {"A == 1", "one weight, one for each entry, or a square matrix of them"},
      {"A == B", "vectors of the same size"},
  };
  for (const auto& rule : rules)
    if (size.find(rule.part) != size.npos) return rule.words;
  return size == "p" ? "a size of at least 1" : "sizes that fit (rule: " + size + ")";
}

}  // namespace kernops
