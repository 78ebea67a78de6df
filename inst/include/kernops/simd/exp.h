// exp, exp2, expm1 and tanh on packs of float or double.
#pragma once

#include <kernops/simd/pack.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

// c0 + c1 x + c2 x^2 + ... by two interleaved chains of multiply-adds, for even and for odd powers. This halves the
// latency of Horner's method, which has a single chain.
template <class T> KERNOPS_INLINE Pack<T> every_second(Pack<T>, double c) { return c; }
template <class T> KERNOPS_INLINE Pack<T> every_second(Pack<T>, double c, double) { return c; }
template <class T, class... More> KERNOPS_INLINE Pack<T> every_second(Pack<T> square, double c, double, More... more) {
  return fma(square, every_second(square, more...), Pack<T>(c));
}
template <class T, class... More> KERNOPS_INLINE Pack<T> polynomial(Pack<T> x, double c0, More... more) {
  return fma(x, every_second(x * x, more...), every_second(x * x, c0, more...));
}

// Constants of the number format. The coefficients were computed by Sollya's fpminimax. ln2_high has so few bits that
// its product with an exponent is exact (Cody & Waite, Software Manual for the Elementary Functions, 1980).
template <class T> struct ExpConstants;

template <> struct ExpConstants<double> {
  static constexpr double log2e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42fefa4p-1, ln2_low = -0x1.8432a1b0e2634p-43;
  static constexpr double limit = 1000;  // for larger |x|, exp is 0 or Inf; for smaller |x|, 2^(k / 2) is representable
  static constexpr double least_exponent = -1075;  // for smaller k, exp(r) 2^k is rounded to 0

  // approximates (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
  static KERNOPS_INLINE Pack<double> tail(Pack<double> r) {
    return polynomial(r, 0x1.000000000000ap-1, 0x1.55555555554fcp-3, 0x1.555555555067bp-5, 0x1.1111111127257p-7,
                      0x1.6c16c1848d832p-10, 0x1.a01a012dd5478p-13, 0x1.a01999128c60dp-16, 0x1.71df1ce669e3ap-19,
                      0x1.28ae4e47b0e45p-22, 0x1.ad8dcc519e661p-26);
  }
  // 1 - tanh(a) / a = z lambert_above / lambert_below with z = a^2
  static KERNOPS_INLINE Pack<double> lambert_above(Pack<double> z) {
    return polynomial(z, 11486475, 810810, 12870, 44);
  }
  static KERNOPS_INLINE Pack<double> lambert_below(Pack<double> z) {
    return polynomial(z, 34459425, 16216200, 945945, 13860, 45);
  }
};

template <> struct ExpConstants<float> {
  static constexpr float log2e = 0x1.715476p0f;
  static constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float limit = 120;
  static constexpr float least_exponent = -150;

  static KERNOPS_INLINE Pack<float> tail(Pack<float> r) {
    return polynomial(r, 0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558a2p-5, 0x1.123adp-7, 0x1.6a5e34p-10);
  }
  static KERNOPS_INLINE Pack<float> lambert_above(Pack<float> z) { return polynomial(z, 3465, 189, 1); }
  static KERNOPS_INLINE Pack<float> lambert_below(Pack<float> z) { return polynomial(z, 10395, 4725, 210, 1); }
};

// k is x * scale, rounded to the nearest integer. Adding 1.5 * 2^(mantissa bits) removes the fraction and leaves k in
// the low bits. Twice the exponent bias is also added, so that these bits are a positive number.
template <class T> struct NearestInteger {
  IntPack<T> bits;  // the low bits are 2 bias + k
  Pack<T> value;
  KERNOPS_INLINE NearestInteger(Pack<T> x, T scale) {
    using F = Format<T>;
    constexpr T shift = T((typename F::Int(3) << (F::mantissa_bits - 1)) + 2 * F::exponent_bias);
    const Pack<T> shifted = fma(x, Pack<T>(scale), Pack<T>(shift));
    bits = bits_of(shifted);
    value = shifted - shift;
  }
};

// Returns x 2^k, rounded only once, even if 2^k or the result is out of range. Without the instruction scalef, x is
// multiplied by two powers of 2 with about half of the exponent.
template <class T> KERNOPS_INLINE Pack<T> scale(Pack<T> x, NearestInteger<T> k) {
#if KERNOPS_SIMD == 3
  return scalef(x, k.value);
#else
  const IntPack<T> half = shift_right(k.bits, 1), rest = k.bits - half;
  return x * from_bits(half << Format<T>::mantissa_bits) * from_bits(rest << Format<T>::mantissa_bits);
#endif
}

template <class T> KERNOPS_INLINE Pack<T> keep_within(Pack<T> x, T low, T high) {  // NaN stays NaN
  return smaller(Pack<T>(high), larger(Pack<T>(low), x));
}

// Returns x - k ln(2).
template <class T> KERNOPS_INLINE Pack<T> less_ln2(Pack<T> x, NearestInteger<T> k) {
  using C = ExpConstants<T>;
  return fma(k.value, Pack<T>(-C::ln2_low), fma(k.value, Pack<T>(-C::ln2_high), x));
}

// Returns exp(r) 2^k. With the instruction scalef, the result is 0 without any arithmetic if k < least_exponent,
// because scalef takes a hundred times as long if its result underflows, for example in sums of narrow Gaussians.
template <class T> KERNOPS_INLINE Pack<T> exp_scaled(Pack<T> r, NearestInteger<T> k) {
  using C = ExpConstants<T>;
  const Pack<T> x = fma(r, fma(r, C::tail(r), Pack<T>(1)), Pack<T>(1));
#if KERNOPS_SIMD == 3
  return scalef_from(C::least_exponent, x, k.value);
#else
  return scale(x, k);
#endif
}

// Limits the argument of exp() or exp2(). NaN stays NaN. exp_scaled() requires no lower limit with the instruction
// scalef.
template <class T> KERNOPS_INLINE Pack<T> keep_in_range(Pack<T> x, T limit) {
#if KERNOPS_SIMD == 3
  return smaller(Pack<T>(limit), x);
#else
  return keep_within(x, -limit, limit);
#endif
}

template <class T> KERNOPS_INLINE Pack<T> exp(Pack<T> x) {
  using C = ExpConstants<T>;
  x = keep_in_range(x, C::limit);
  const NearestInteger<T> k(x, C::log2e);
  return exp_scaled(less_ln2(x, k), k);
}

template <class T> KERNOPS_INLINE Pack<T> exp2(Pack<T> x) {
  using C = ExpConstants<T>;
  x = keep_in_range(x, C::limit * T(1.25));
  const NearestInteger<T> k(x, 1);
  const Pack<T> r = x - k.value;
  return exp_scaled(fma(r, Pack<T>(C::ln2_high), r * C::ln2_low), k);
}

// Computes 2^k (exp(r) - 1 + (1 - 2^-k)). The small parts of r and exp(r) are added last. The sign of x is copied, so
// that the result for -0 is -0.
template <class T> KERNOPS_INLINE Pack<T> expm1(Pack<T> x) {
  using C = ExpConstants<T>;
  const Pack<T> y = keep_within(x, T(-2 * Format<T>::mantissa_bits), C::limit);
  const NearestInteger<T> k(y, C::log2e), minus_k(-y, C::log2e);
  const Pack<T> high = fma(k.value, Pack<T>(-C::ln2_high), y), low = k.value * -C::ln2_low, r = high + low;
  const Pack<T> major = high + (1 - scale(Pack<T>(1), minus_k));
  return copysign(scale(major + fma(r * r, C::tail(r), low), k), x);
}

// Computes Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))) near 0, and 1 - 2 / (exp(2 x) + 1) for
// larger |x|. The first formula corrects x by a quotient, and the second formula corrects 1 by a quotient. The code
// needs only one division for both formulas.
template <class T> KERNOPS_INLINE Pack<T> tanh(Pack<T> x) {
  using C = ExpConstants<T>;
  const Pack<T> a = abs(x), z = a * a;
  const Mask<T> central = a < T(0.9);
  const Pack<T> above = select(central, a * z * C::lambert_above(z), Pack<T>(2));
  const Pack<T> below = select(central, C::lambert_below(z), exp(a + a) + 1);
  return copysign(select(central, a, Pack<T>(1)) - above / below, x);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
