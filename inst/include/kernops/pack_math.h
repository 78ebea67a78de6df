// exp, log, tanh, pow and the rest of <cmath> on packs of float or double. The elementary functions stay within 2 ulp
// over the whole range, with the special values of C99 (Annex F): each reduces its argument to a small interval and
// evaluates a minimax polynomial there, without tables (Muller et al., Handbook of Floating-Point Arithmetic, 2018,
// chapter 10). Rare lanes, such as zeros in log or negative bases in pow, go through <cmath>.
#pragma once

#include <kernops/pack.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

// A second argument from which T is not deduced, so that a number converts.
template <class T> using same_pack = std::enable_if_t<std::is_floating_point<T>::value, Pack<T>>;

// c + x (c1 + x (c2 + ...))
template <class T> KERNOPS_INLINE Pack<T> horner(Pack<T>, double c) { return c; }
template <class T, class... More> KERNOPS_INLINE Pack<T> horner(Pack<T> x, double c, More... more) {
  return fma(x, horner(x, more...), Pack<T>(c));
}

// The same in two interleaved chains, even and odd powers, which wait for each other half as long.
template <class T> KERNOPS_INLINE Pack<T> every_second(Pack<T>, double c) { return c; }
template <class T> KERNOPS_INLINE Pack<T> every_second(Pack<T>, double c, double) { return c; }
template <class T, class... More>
KERNOPS_INLINE Pack<T> every_second(Pack<T> square, double c, double, More... more) {
  return fma(square, every_second(square, more...), Pack<T>(c));
}
template <class T, class... More> KERNOPS_INLINE Pack<T> two_chains(Pack<T> x, double c, More... more) {
  return fma(x, every_second(x * x, more...), every_second(x * x, c, more...));
}

// What depends on the format. Coefficients are by Sollya's fpminimax; ln2_high has so few bits that its product with
// an exponent is exact (Cody & Waite 1980).
template <class T> struct Constants;

template <> struct Constants<double> {
  using P = Pack<double>;
  static constexpr double log2e = 0x1.71547652b82fep0, ln2_high = 0x1.62e42fefa4p-1, ln2_low = -0x1.8432a1b0e2634p-43;
  static constexpr double smallest_normal = 0x1p-1022, sqrt_half = 0x1.6a09e667f3bcdp-1;
  static constexpr double two_thirds_low = 0x1.5555555555555p-55;
  static constexpr double exp_limit = 1000;    // beyond it exp is 0 or Inf; half of its exponent still fits
  static constexpr double pow_limit = 0x1p64;  // beyond it x^y is 0, 1 or Inf

  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
  static KERNOPS_INLINE P exp_tail(P r) {
    return two_chains(r, 0x1.000000000000ap-1, 0x1.55555555554fcp-3, 0x1.555555555067bp-5, 0x1.1111111127257p-7,
                  0x1.6c16c1848d832p-10, 0x1.a01a012dd5478p-13, 0x1.a01999128c60dp-16, 0x1.71df1ce669e3ap-19,
                  0x1.28ae4e47b0e45p-22, 0x1.ad8dcc519e661p-26);
  }
  // (2 atanh(s) / s - 2) / z with z = s^2, for |s| <= (sqrt(2) - 1)^2
  static KERNOPS_INLINE P atanh_tail(P z) {
    return two_chains(z, 0x1.5555555555593p-1, 0x1.999999997f957p-2, 0x1.2492494239a41p-2, 0x1.c71c51c70a716p-3,
                  0x1.74664de26c998p-3, 0x1.39a017b59f837p-3, 0x1.2f17145f6220ap-3);
  }
  // (2 atanh(s) / s - 2 - 2 z / 3) / z^2
  static KERNOPS_INLINE P atanh_far_tail(P z) {
    return two_chains(z, 0x1.9999999999b36p-2, 0x1.2492492457137p-2, 0x1.c71c722e88addp-3, 0x1.745ce97a21324p-3,
                  0x1.3b1efff7bfc87p-3, 0x1.0f7e0463ebdcp-3, 0x1.0e54fa65831bep-3);
  }
  // 1 - tanh(a) / a = z above / below with z = a^2
  static KERNOPS_INLINE P lambert_above(P z) { return horner(z, 11486475, 810810, 12870, 44); }
  static KERNOPS_INLINE P lambert_below(P z) { return horner(z, 34459425, 16216200, 945945, 13860, 45); }
};

template <> struct Constants<float> {
  using P = Pack<float>;
  static constexpr float log2e = 0x1.715476p0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float smallest_normal = 0x1p-126f, sqrt_half = 0x1.6a09e6p-1f;
  static constexpr float two_thirds_low = -0x1.555556p-26f;
  static constexpr float exp_limit = 120;
  static constexpr float pow_limit = 0x1p34f;

  static KERNOPS_INLINE P exp_tail(P r) {
    return two_chains(r, 0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558a2p-5, 0x1.123adp-7, 0x1.6a5e34p-10);
  }
  static KERNOPS_INLINE P atanh_tail(P z) {
    return two_chains(z, 0x1.555554p-1, 0x1.999bd2p-2, 0x1.23f252p-2, 0x1.ec004ep-3);
  }
  static KERNOPS_INLINE P atanh_far_tail(P z) { return horner(z, 0x1.999bd2p-2, 0x1.23f252p-2, 0x1.ec004ep-3); }
  static KERNOPS_INLINE P lambert_above(P z) { return horner(z, 3465, 189, 1); }
  static KERNOPS_INLINE P lambert_below(P z) { return horner(z, 10395, 4725, 210, 1); }
};

// k = x * scale to the nearest integer. Adding 1.5 * 2^(mantissa bits) pushes the fraction out and leaves k in the low
// bits; adding twice the exponent bias as well keeps them positive.
template <class T> struct NearestInteger {
  IntPack<T> bits;  // the low ones are 2 bias + k
  Pack<T> value;
  KERNOPS_INLINE NearestInteger(Pack<T> x, T scale) {
    using F = Format<T>;
    constexpr T shift = T((typename F::Int(3) << (F::mantissa_bits - 1)) + 2 * F::exponent_bias);
    const Pack<T> shifted = fma(x, Pack<T>(scale), Pack<T>(shift));
    bits = bits_of(shifted);
    value = shifted - shift;
  }
};

// x * 2^k rounded once, also where 2^k or the result is out of range: elsewhere than in AVX-512 k goes in two halves.
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

// x - k ln(2)
template <class T> KERNOPS_INLINE Pack<T> less_ln2(Pack<T> x, NearestInteger<T> k) {
  using C = Constants<T>;
  return fma(k.value, Pack<T>(-C::ln2_low), fma(k.value, Pack<T>(-C::ln2_high), x));
}

template <class T> KERNOPS_INLINE Pack<T> exp_scaled(Pack<T> r, NearestInteger<T> k) {  // exp(r) 2^k
  return scale(fma(r, fma(r, Constants<T>::exp_tail(r), Pack<T>(1)), Pack<T>(1)), k);
}

template <class T> KERNOPS_INLINE Pack<T> exp(Pack<T> x) {
  using C = Constants<T>;
  x = keep_within(x, -C::exp_limit, C::exp_limit);
  const NearestInteger<T> k(x, C::log2e);
  return exp_scaled(less_ln2(x, k), k);
}

template <class T> KERNOPS_INLINE Pack<T> exp2(Pack<T> x) {
  using C = Constants<T>;
  x = keep_within(x, -C::exp_limit * T(1.25), C::exp_limit * T(1.25));
  const NearestInteger<T> k(x, 1);
  const Pack<T> r = x - k.value;
  return exp_scaled(fma(r, Pack<T>(C::ln2_high), r * C::ln2_low), k);
}

// 2^k (exp(r) - 1 + (1 - 2^-k)); the sign is copied for -0.
template <class T> KERNOPS_INLINE Pack<T> expm1(Pack<T> x) {
  using C = Constants<T>;
  const Pack<T> y = keep_within(x, T(-2 * Format<T>::mantissa_bits), C::exp_limit);
  const NearestInteger<T> k(y, C::log2e), opposite(-y, C::log2e);
  const Pack<T> r = less_ln2(y, k), small = fma(r * r, C::exp_tail(r), r);
  return copysign(scale(small + (1 - scale(Pack<T>(1), opposite)), k), x);
}

// Near 0 Lambert's continued fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))), elsewhere 1 - 2 / (exp(2 x) + 1): both
// correct x or 1 by a quotient, and one division serves both.
template <class T> KERNOPS_INLINE Pack<T> tanh(Pack<T> x) {
  const Pack<T> a = abs(x), z = a * a;
  const Mask<T> near = a < T(0.9);
  const Pack<T> above = select(near, a * z * Constants<T>::lambert_above(z), 2);
  const Pack<T> below = select(near, Constants<T>::lambert_below(z), exp(a + a) + 1);
  return copysign(select(near, a, 1) - above / below, x);
}

// x = (1 + f) 2^exponent with sqrt(1/2) <= 1 + f < sqrt(2), for normal x > 0. The exponent becomes a number by being
// put in the low bits of 2^(mantissa bits).
template <class T> struct LogReduced {
  Pack<T> f, exponent;
  KERNOPS_INLINE explicit LogReduced(Pack<T> x) {
    using F = Format<T>;
    constexpr typename F::Int hidden_bit = typename F::Int(1) << F::mantissa_bits;
    const IntPack<T> low = bits_of(Pack<T>(Constants<T>::sqrt_half)), shifted = bits_of(x) + (bits_of(Pack<T>(1)) - low);
    const IntPack<T> biased = shift_right(shifted, F::mantissa_bits);
    exponent = from_bits(biased | bits_of(Pack<T>(hidden_bit))) - T(hidden_bit + F::exponent_bias);
    f = from_bits((shifted & IntPack<T>(hidden_bit - 1)) + low) - 1;
  }
};

// exponent ln(2) + 2 atanh(s) with s = f / (2 + f) = f - (f^2 / 2 - ...), the large parts last, as fdlibm does
template <class T> KERNOPS_INLINE Pack<T> log_of(LogReduced<T> x) {
  using C = Constants<T>;
  const Pack<T> s = x.f / (x.f + 2), z = s * s, half_square = x.f * x.f * T(0.5);
  const Pack<T> small = fma(s, fma(z, C::atanh_tail(z), half_square), x.exponent * C::ln2_low);
  return fma(x.exponent, Pack<T>(C::ln2_high), x.f - (half_square - small));
}

template <class T> KERNOPS_INLINE Mask<T> is_normal(Pack<T> x) {  // and positive
  return (x >= Constants<T>::smallest_normal) & (x < T(INFINITY));
}

template <class T> KERNOPS_INLINE Pack<T> log(Pack<T> x) {
  return mend(log_of(LogReduced<T>(x)), !is_normal(x), [](T t) { return std::log(t); }, x);
}

// log(u) + c / u where u + c is 1 + x without error
template <class T> KERNOPS_INLINE Pack<T> log1p(Pack<T> x) {
  const Pack<T> u = x + 1, c = select(x < 1, x - (u - 1), 1 - (u - x));
  const Pack<T> result = copysign(log_of(LogReduced<T>(u)) + c / u, x);
  return mend(result, !is_normal(u), [](T t) { return std::log1p(t); }, x);
}

// An unevaluated sum high + low: Dekker, A floating-point technique for extending the available precision, 1971.
template <class T> struct Sum { Pack<T> high, low; };

template <class T> KERNOPS_INLINE Sum<T> exact_sum(Pack<T> large, Pack<T> small) {  // |large| >= |small|
  const Pack<T> s = large + small;
  return {s, small - (s - large)};
}

// Without a fused multiply-add the factors are cut in halves with exact products, by their bits: splitting by
// arithmetic would not survive a compiler that contracts.
template <class T> KERNOPS_INLINE Sum<T> exact_product(Pack<T> a, Pack<T> b) {
  const Pack<T> p = a * b;
#if KERNOPS_SIMD > 0
  return {p, fma(a, b, -p)};
#else
  const IntPack<T> upper = -(typename Format<T>::Int(1) << (Format<T>::mantissa_bits + 2) / 2);
  const Pack<T> ah = from_bits(bits_of(a) & upper), al = a - ah, bh = from_bits(bits_of(b) & upper), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
#endif
}

template <class T> KERNOPS_INLINE Sum<T> product(Sum<T> a, Sum<T> b) {
  const Sum<T> p = exact_product(a.high, b.high);
  return exact_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// log(x) to a dozen bits more than T has: exponent ln(2) + s (2 + z (2/3 + ...)) with s = f / (2 + f), z = s^2
template <class T> KERNOPS_INLINE Sum<T> accurate_log(Pack<T> x) {
  using C = Constants<T>;
  const LogReduced<T> l(x);
  const Sum<T> divisor = exact_sum(Pack<T>(2), l.f);
  const Pack<T> inverse = 1 / divisor.high, quotient = l.f * inverse;
  const Sum<T> back = exact_product(quotient, divisor.high);
  const Sum<T> s = {quotient, (l.f - back.high - back.low - quotient * divisor.low) * inverse}, z = product(s, s);
  Sum<T> factor = exact_sum(Pack<T>(T(2) / 3), z.high * C::atanh_far_tail(z.high));
  factor.low += C::two_thirds_low;
  factor = product(z, factor);
  const Sum<T> two_more = exact_sum(Pack<T>(2), factor.high);
  const Sum<T> log_m = product(s, {two_more.high, two_more.low + factor.low});
  const Sum<T> log_x = exact_sum(l.exponent * C::ln2_high, log_m.high);
  return exact_sum(log_x.high, log_x.low + (log_m.low + l.exponent * C::ln2_low));
}

// exp(y log(x)): the absolute error of the exponent is the relative error of the result, hence the accurate logarithm.
template <class T> KERNOPS_INLINE Pack<T> pow(Pack<T> x, same_pack<T> y) {
  using C = Constants<T>;
  const Sum<T> l = accurate_log(x), power = exact_product(y, l.high);
  const Pack<T> p = keep_within(power.high, -C::exp_limit, C::exp_limit);
  const Pack<T> tail = select(p == power.high, power.low + y * l.low, 0);
  const NearestInteger<T> k(p, C::log2e);
  const Pack<T> result = exp_scaled(less_ln2(p, k) + tail, k);
  return mend(result, !(is_normal(x) & (abs(y) < C::pow_limit)), [](T s, T t) { return std::pow(s, t); }, x, y);
}

// The others lane by lane.

#define KERNOPS_LANEWISE(name) \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x) { return lanewise([](T t) { return std::name(t); }, x); }
KERNOPS_LANEWISE(log2)
KERNOPS_LANEWISE(log10)
KERNOPS_LANEWISE(tan)
KERNOPS_LANEWISE(asin)
KERNOPS_LANEWISE(acos)
KERNOPS_LANEWISE(atan)
KERNOPS_LANEWISE(sinh)
KERNOPS_LANEWISE(cosh)
KERNOPS_LANEWISE(asinh)
KERNOPS_LANEWISE(acosh)
KERNOPS_LANEWISE(atanh)
KERNOPS_LANEWISE(erf)
KERNOPS_LANEWISE(erfc)
KERNOPS_LANEWISE(tgamma)
KERNOPS_LANEWISE(cbrt)
#undef KERNOPS_LANEWISE

#define KERNOPS_LANEWISE(name)                                               \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x, same_pack<T> y) { \
    return lanewise([](T s, T t) { return std::name(s, t); }, x, y);         \
  }
KERNOPS_LANEWISE(atan2)
KERNOPS_LANEWISE(hypot)
KERNOPS_LANEWISE(fmod)
#undef KERNOPS_LANEWISE

// lgamma writes a global sign; the reentrant form does not, where the system declares it.
template <class T> auto log_gamma(T x, int) -> decltype(lgamma_r(x, static_cast<int*>(nullptr))) {
  int sign;
  return lgamma_r(x, &sign);
}
template <class T> T log_gamma(T x, long) { return std::lgamma(x); }
template <class T> KERNOPS_INLINE Pack<T> lgamma(Pack<T> x) {
  return lanewise([](T t) { return T(log_gamma(double(t), 0)); }, x);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
