// log, log1p and pow on packs of float or double.
#pragma once

#include <kernops/simd/exp.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> struct LogConstants;

template <> struct LogConstants<double> {
  static constexpr double smallest_normal = 0x1p-1022, sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr double two_thirds_low = 0x1.5555555555555p-55;
  static constexpr double pow_limit = 0x1p64;  // limit of |y|; for larger |y|, x^y is 0, 1 or Inf

  // approximates (2 atanh(s) / s - 2) / z with z = s^2, for |s| <= (sqrt(2) - 1)^2
  static KERNOPS_INLINE Pack<double> tail(Pack<double> z) {
    return polynomial(z, 0x1.5555555555593p-1, 0x1.999999997f957p-2, 0x1.2492494239a41p-2, 0x1.c71c51c70a716p-3,
                      0x1.74664de26c998p-3, 0x1.39a017b59f837p-3, 0x1.2f17145f6220ap-3);
  }
  // approximates (2 atanh(s) / s - 2 - 2 z / 3) / z^2
  static KERNOPS_INLINE Pack<double> far_tail(Pack<double> z) {
    return polynomial(z, 0x1.9999999999b36p-2, 0x1.2492492457137p-2, 0x1.c71c722e88addp-3, 0x1.745ce97a21324p-3,
                      0x1.3b1efff7bfc87p-3, 0x1.0f7e0463ebdcp-3, 0x1.0e54fa65831bep-3);
  }
};

template <> struct LogConstants<float> {
  static constexpr float smallest_normal = 0x1p-126f, sqrt_half = 0x1.6a09e6p-1f;
  static constexpr float two_thirds_low = -0x1.555556p-26f;
  static constexpr float pow_limit = 0x1p34f;

  static KERNOPS_INLINE Pack<float> tail(Pack<float> z) {
    return polynomial(z, 0x1.555554p-1, 0x1.999bd2p-2, 0x1.23f252p-2, 0x1.ec004ep-3);
  }
  static KERNOPS_INLINE Pack<float> far_tail(Pack<float> z) {
    return polynomial(z, 0x1.999bd2p-2, 0x1.23f252p-2, 0x1.ec004ep-3);
  }
};

// The range reduction x = (1 + f) 2^exponent, with sqrt(1/2) <= 1 + f < sqrt(2), for normal x > 0. To convert the
// exponent to a number, its bits are placed in the low bits of 2^(mantissa bits).
template <class T> struct LogReduced {
  Pack<T> f, exponent;
  KERNOPS_INLINE explicit LogReduced(Pack<T> x) {
    using F = Format<T>;
    constexpr typename F::Int unit = typename F::Int(1) << F::mantissa_bits;
    const IntPack<T> one = bits_of(Pack<T>(1)), lowest = bits_of(Pack<T>(LogConstants<T>::sqrt_half));
    const IntPack<T> shifted = bits_of(x) + (one - lowest);
    const IntPack<T> biased = shift_right(shifted, F::mantissa_bits);
    exponent = from_bits(biased | bits_of(Pack<T>(unit))) - T(unit + F::exponent_bias);
    f = from_bits((shifted & (unit - 1)) + lowest) - 1;
  }
};

// Computes exponent ln(2) + 2 atanh(s) with s = f / (2 + f). The second term has the form f - (f^2 / 2 - ...), so that
// the large parts are added last, as in fdlibm (Sun 1993).
template <class T> KERNOPS_INLINE Pack<T> log_of(LogReduced<T> x) {
  using C = ExpConstants<T>;
  const Pack<T> s = x.f / (x.f + 2), z = s * s, half_square = x.f * x.f * T(0.5);
  const Pack<T> minor = fma(s, fma(z, LogConstants<T>::tail(z), half_square), x.exponent * C::ln2_low);
  return fma(x.exponent, Pack<T>(C::ln2_high), x.f - (half_square - minor));
}

template <class T> KERNOPS_INLINE Mask<T> is_normal(Pack<T> x) {  // normal and positive
  return (x >= LogConstants<T>::smallest_normal) & (x < T(INFINITY));
}

template <class T> KERNOPS_INLINE Pack<T> log(Pack<T> x) {
  const auto scalar = [](T t) { return std::log(t); };
  return mend(log_of(LogReduced<T>(x)), !is_normal(x), scalar, x);
}

// Computes log(1 + x) as log(u) + c / u, where u + c equals 1 + x exactly.
template <class T> KERNOPS_INLINE Pack<T> log1p(Pack<T> x) {
  const Pack<T> u = x + 1, c = select(x < 1, x - (u - 1), 1 - (u - x));
  const auto scalar = [](T t) { return std::log1p(t); };
  return mend(copysign(log_of(LogReduced<T>(u)) + c / u, x), !is_normal(u), scalar, x);
}

// A sum high + low, whose parts are stored separately (Dekker, Numerische Mathematik 18, 1971).
template <class T> struct Sum { Pack<T> high, low; };

// Returns the exact sum of two numbers, if |major| >= |minor|, or if `major` is a multiple of the last place of
// `minor`.
template <class T> KERNOPS_INLINE Sum<T> exact_sum(Pack<T> major, Pack<T> minor) {
  const Pack<T> s = major + minor;
  return {s, minor - (s - major)};
}

// R's NA may be a signalling NaN, and std::pow(x, 0) is not 1 if x is a signalling NaN.
template <class T> T scalar_pow(T x, T y) { return x == 1 || y == 0 ? T(1) : std::pow(x, y); }

#ifndef KERNOPS_FMA

// Without fused multiply-add, products in twice the precision are slower than <cmath>.
template <class T> KERNOPS_INLINE Pack<T> pow(Pack<T> x, same_pack<T> y) { return lanewise(scalar_pow<T>, x, y); }

#else

template <class T> KERNOPS_INLINE Sum<T> product(Sum<T> a, Sum<T> b) {
  const Pack<T> p = a.high * b.high;
  return {p, fma(a.high, b.low, fma(a.low, b.high, fma(a.high, b.high, -p)))};
}

// Computes log(x) with about 12 bits more than T, as exponent ln(2) + s (2 + z (2/3 + ...)) with s = f / (2 + f) and z
// = s^2.
template <class T> KERNOPS_INLINE Sum<T> accurate_log(Pack<T> x) {
  using C = LogConstants<T>;
  const LogReduced<T> l(x);
  const Sum<T> divisor = exact_sum(Pack<T>(2), l.f);
  const Pack<T> inverse = 1 / divisor.high, quotient = l.f * inverse;
  const Pack<T> remainder = fma(-quotient, divisor.low, fma(-quotient, divisor.high, l.f));
  const Sum<T> s = {quotient, remainder * inverse}, z = product(s, s);
  const Sum<T> slope = exact_sum(Pack<T>(T(2) / 3), z.high * C::far_tail(z.high));
  const Sum<T> bend = product(z, {slope.high, slope.low + C::two_thirds_low});
  const Sum<T> factor = exact_sum(Pack<T>(2), bend.high);
  const Sum<T> log_m = product(s, {factor.high, factor.low + bend.low});
  const Sum<T> log_x = exact_sum(l.exponent * ExpConstants<T>::ln2_high, log_m.high);
  return exact_sum(log_x.high, log_x.low + fma(l.exponent, Pack<T>(ExpConstants<T>::ln2_low), log_m.low));
}

// Computes exp(y log(x)). The absolute error of y log(x) is the relative error of x^y, so an accurate logarithm is
// needed.
template <class T> KERNOPS_INLINE Pack<T> pow(Pack<T> x, same_pack<T> y) {
  using C = ExpConstants<T>;
  const Sum<T> l = accurate_log(x);
  const Pack<T> power = y * l.high, power_low = fma(y, l.low, fma(y, l.high, -power));
  const Pack<T> p = keep_within(power, -C::limit, C::limit);
  const NearestInteger<T> k(p, C::log2e);
  const Pack<T> result = exp_scaled(less_ln2(p, k) + select(p == power, power_low, Pack<T>(0)), k);
  const Mask<T> covered = is_normal(x) & (abs(y) < LogConstants<T>::pow_limit);
  return mend(result, !covered, scalar_pow<T>, x, y);
}

#endif

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
