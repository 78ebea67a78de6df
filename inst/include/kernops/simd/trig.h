// sin and cos on packs of float or double.
#pragma once

#include <kernops/simd/log.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

// pi/2 is split into parts with few bits, so that the products of these parts with up to `most` quarter turns are exact
// (Cody & Waite 1980).
template <class T> struct TrigConstants;

template <> struct TrigConstants<double> {
  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1, most = 0x1p20;
  static constexpr double pi_half1 = 0x1.921fb544p0, pi_half2 = 0x1.0b4611a6p-34;
  static constexpr double pi_half3 = 0x1.3198a2ep-69, pi_half4 = 0x1.b839a252049c1p-104;

  // approximations of (sin(r) - r) / r^3 and of (cos(r) - 1 + r^2 / 2) / r^4 with z = r^2, for |r| <= pi/4
  static KERNOPS_INLINE Pack<double> sin_tail(Pack<double> z) {
    return polynomial(z, -0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf222ep-13, 0x1.71de355f05599p-19,
                      -0x1.ae5e5471f54e4p-26, 0x1.5d8e3511cc1abp-33);
  }
  static KERNOPS_INLINE Pack<double> cos_tail(Pack<double> z) {
    return polynomial(z, 0x1.555555555554bp-5, -0x1.6c16c16c15016p-10, 0x1.a01a019c8f3eep-16, -0x1.27e4f7f19d4b2p-22,
                      0x1.1ee9dbd0d86a6p-29, -0x1.8fa681e38524p-37);
  }
};

template <> struct TrigConstants<float> {
  static constexpr float two_over_pi = 0x1.45f306p-1f, most = 0x1p12f;
  static constexpr float pi_half1 = 0x1.922p0f, pi_half2 = -0x1.2aep-18f;
  static constexpr float pi_half3 = -0x1.deap-31f, pi_half4 = 0x1.184698p-44f;

  static KERNOPS_INLINE Pack<float> sin_tail(Pack<float> z) {
    return polynomial(z, -0x1.555546p-3, 0x1.110778p-7, -0x1.9953fep-13);
  }
  static KERNOPS_INLINE Pack<float> cos_tail(Pack<float> z) {
    return polynomial(z, 0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e91p-16);
  }
};

// Returns a - k pi/2, with a correction term, because a may be close to a multiple of pi/2.
template <class T> KERNOPS_INLINE Sum<T> less_quarter_turns(Pack<T> a, Pack<T> k) {
  using C = TrigConstants<T>;
  const Sum<T> r = exact_sum(a - k * C::pi_half1, k * -C::pi_half2);
  const Sum<T> s = exact_sum(r.high, k * -C::pi_half3);
  return {s.high, (r.low + s.low) - k * C::pi_half4};
}

// Computes sin(a + quarters pi/2) for a >= 0. The result is the sine or the cosine of the reduced argument, with a sign
// that depends on the number of half turns.
template <class T> KERNOPS_INLINE Pack<T> sin_turned(Pack<T> a, int quarters) {
  using C = TrigConstants<T>;
  const NearestInteger<T> k(a, C::two_over_pi);
  const Sum<T> r = less_quarter_turns(a, k.value);
  const Pack<T> z = r.high * r.high, half = z * T(0.5), most = 1 - half;
  const Pack<T> sine = r.high + fma(r.high * z, C::sin_tail(z), r.low * most);
  const Pack<T> cosine = most + ((1 - most - half) + (z * z * C::cos_tail(z) - r.high * r.low));

  const IntPack<T> quarter = k.bits + (quarters - 2 * Format<T>::exponent_bias);
  const IntPack<T> half_turn = (quarter << (8 * sizeof(T) - 2)) & Pack<T>::sign_bit();
  return from_bits(bits_of(select((quarter & 1) == 1, cosine, sine)) ^ half_turn);
}

template <class T> KERNOPS_INLINE Mask<T> too_many_turns(Pack<T> a) {  // true also for NaN
  return !(a < TrigConstants<T>::most);
}

template <class T> KERNOPS_INLINE Pack<T> sin(Pack<T> x) {
  const Pack<T> a = abs(x), s = from_bits(bits_of(sin_turned(a, 0)) ^ (bits_of(x) & Pack<T>::sign_bit()));
  const auto scalar = [](T t) { return std::sin(t); };
  return mend(s, too_many_turns(a), scalar, x);
}
template <class T> KERNOPS_INLINE Pack<T> cos(Pack<T> x) {
  const Pack<T> a = abs(x);
  const auto scalar = [](T t) { return std::cos(t); };
  return mend(sin_turned(a, 1), too_many_turns(a), scalar, x);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
