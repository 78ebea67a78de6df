// Numbers of 16 bits, to which inputs are rounded for storage. bfloat16 has 8 significant bits and the range of
// float32. float16 has 11 significant bits, and its largest number is 65504. C++ compilers and NVRTC compile this file.
#pragma once
#include <kernops/portable.h>

#ifndef __CUDACC_RTC__
#include <cstring>
#endif

namespace kernops {

template <class To, class From> KERNOPS_FN To same_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "the bits of a number of the same size");
  To bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// A number of 16 bits: a sign, an exponent, and digits - 1 bits of the fraction. A conversion rounds to the nearest
// number with `digits` significant bits and, if two numbers are equally near, to the even number.
template <int digits> struct SixteenBits {
  static constexpr int fraction = digits - 1, most = (1 << (15 - digits)) - 1, least = 1 - most;
  unsigned short bits;

  SixteenBits() = default;
  KERNOPS_FN explicit SixteenBits(double x) {
    const auto wide = same_bits<unsigned long long>(x);
    const int exponent = int(wide >> 52 & 0x7ff) - 1023, used = exponent < least ? least : exponent;
    const unsigned sign = unsigned(wide >> 63) << 15, infinite = unsigned(2 * most + 1) << fraction;
    if (exponent == 1024 && x != x) {
      bits = static_cast<unsigned short>(sign | infinite | 1u << (fraction - 1));
    } else if (exponent > most) {
      bits = static_cast<unsigned short>(sign | infinite);
    } else {
      // |x| is divided by the value of the last bit of the result; the quotient is below 2^digits, so that adding
      // 1.5 * 2^52 rounds the quotient to an integer
      const double unit = same_bits<double>((unsigned long long)(1023 + fraction - used) << 52);
      const double size = (x < 0 ? -x : x) * unit;
      const unsigned count = unsigned(same_bits<unsigned long long>(size + 0x1.8p52) & 0xffffffffu);
      // the leading bit of a normal number, or the carry of rounding, increases the exponent
      bits = static_cast<unsigned short>(sign | ((unsigned(used + most - 1) << fraction) + count));
    }
  }
  KERNOPS_FN explicit operator float() const {
    const unsigned sign = unsigned(bits >> 15) << 31, exponent = unsigned(bits >> fraction) & (2 * most + 1);
    const unsigned rest = bits & ((1u << fraction) - 1);
    if (digits == 8) return same_bits<float>(unsigned(bits) << 16);
    const float smallest = same_bits<float>(unsigned(127 + least - fraction) << 23);
    if (exponent == 0) return (sign ? -1.0f : 1.0f) * float(rest) * smallest;
    const unsigned shifted = exponent == 2 * most + 1 ? 255 : exponent + 127 - most;
    return same_bits<float>(sign | shifted << 23 | rest << (23 - fraction));
  }
  KERNOPS_FN explicit operator double() const { return double(float(*this)); }
};
using Bfloat16 = SixteenBits<8>;
using Float16 = SixteenBits<11>;

}  // namespace kernops
