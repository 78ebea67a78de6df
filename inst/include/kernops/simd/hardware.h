// Operations that the vector types of the compiler do not provide: any, sqrt, smaller, larger, fma, rounding.
#pragma once
#include <kernops/simd/lanes.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

// This file uses the intrinsics with maskz_ in their names, because g++ 12 warns of an uninitialized variable in its
// own 512-bit intrinsics without a mask.
#if KERNOPS_SIMD == 3
#define KERNOPS_INTRINSIC(name, type, ...) _mm512_maskz_##name##_##type(-1, __VA_ARGS__)
#define KERNOPS_ROUND(type, x, mode) _mm512_maskz_roundscale_##type(-1, x, mode | _MM_FROUND_NO_EXC)
KERNOPS_INLINE bool any(Mask<double> m) { return _mm512_movepi64_mask((__m512i)m.v) != 0; }
KERNOPS_INLINE bool any(Mask<float> m) { return _mm512_movepi32_mask((__m512i)m.v) != 0; }
#elif KERNOPS_SIMD == 2
#define KERNOPS_INTRINSIC(name, type, ...) _mm256_##name##_##type(__VA_ARGS__)
#define KERNOPS_ROUND(type, x, mode) _mm256_round_##type(x, mode | _MM_FROUND_NO_EXC)
KERNOPS_INLINE bool any(Mask<double> m) { return _mm256_movemask_pd((__m256d)m.v) != 0; }
KERNOPS_INLINE bool any(Mask<float> m) { return _mm256_movemask_ps((__m256)m.v) != 0; }
#elif defined(__SSE2__)
#define KERNOPS_INTRINSIC(name, type, ...) _mm_##name##_##type(__VA_ARGS__)
KERNOPS_INLINE bool any(Mask<double> m) { return _mm_movemask_pd((__m128d)m.v) != 0; }
KERNOPS_INLINE bool any(Mask<float> m) { return _mm_movemask_ps((__m128)m.v) != 0; }
#elif defined(__aarch64__)
template <class T> KERNOPS_INLINE bool any(Mask<T> m) { return vmaxvq_u32((uint32x4_t)m.v) != 0; }
#else
template <class T> KERNOPS_INLINE bool any(Mask<T> m) {
  typename Mask<T>::Int found = 0;
  for (int i = 0; i < Mask<T>::width; ++i) found |= m.v[i];
  return found != 0;
}
#endif

#ifdef KERNOPS_INTRINSIC
#define KERNOPS_HARDWARE(T, type)                                                                         \
  KERNOPS_INLINE Pack<T> sqrt(Pack<T> x) { return KERNOPS_INTRINSIC(sqrt, type, x.v); }                   \
  KERNOPS_INLINE Pack<T> smaller(Pack<T> a, Pack<T> b) { return KERNOPS_INTRINSIC(min, type, a.v, b.v); } \
  KERNOPS_INLINE Pack<T> larger(Pack<T> a, Pack<T> b) { return KERNOPS_INTRINSIC(max, type, a.v, b.v); }
KERNOPS_HARDWARE(double, pd)
KERNOPS_HARDWARE(float, ps)
#undef KERNOPS_HARDWARE
#else
#ifdef __aarch64__
KERNOPS_INLINE Pack<double> sqrt(Pack<double> x) { return vsqrtq_f64(x.v); }
KERNOPS_INLINE Pack<float> sqrt(Pack<float> x) { return vsqrtq_f32(x.v); }
#else
template <class T> KERNOPS_INLINE Pack<T> sqrt(Pack<T> x) {
  return lanewise([](T t) { return std::sqrt(t); }, x);
}
#endif
// If a or b is NaN, the functions return b. Therefore each function takes two instructions: a comparison and a
// selection. One instruction is not enough on NEON either, because NEON's minimum is NaN if a or b is NaN.
template <class T> KERNOPS_INLINE Pack<T> smaller(Pack<T> a, Pack<T> b) { return select(a < b, a, b); }
template <class T> KERNOPS_INLINE Pack<T> larger(Pack<T> a, Pack<T> b) { return select(a > b, a, b); }
#endif

#ifdef KERNOPS_ROUND
#define KERNOPS_HARDWARE(T, type)                                                                        \
  KERNOPS_INLINE Pack<T> fma(Pack<T> a, Pack<T> b, Pack<T> c) {                                          \
    return KERNOPS_INTRINSIC(fmadd, type, a.v, b.v, c.v);                                                \
  }                                                                                                      \
  KERNOPS_INLINE Pack<T> rint(Pack<T> x) { return KERNOPS_ROUND(type, x.v, _MM_FROUND_TO_NEAREST_INT); } \
  KERNOPS_INLINE Pack<T> floor(Pack<T> x) { return KERNOPS_ROUND(type, x.v, _MM_FROUND_TO_NEG_INF); }    \
  KERNOPS_INLINE Pack<T> ceil(Pack<T> x) { return KERNOPS_ROUND(type, x.v, _MM_FROUND_TO_POS_INF); }     \
  KERNOPS_INLINE Pack<T> trunc(Pack<T> x) { return KERNOPS_ROUND(type, x.v, _MM_FROUND_TO_ZERO); }
KERNOPS_HARDWARE(double, pd)
KERNOPS_HARDWARE(float, ps)
#undef KERNOPS_HARDWARE
#elif defined(__aarch64__)
#define KERNOPS_HARDWARE(T, type)                                                                     \
  KERNOPS_INLINE Pack<T> fma(Pack<T> a, Pack<T> b, Pack<T> c) { return vfmaq_##type(c.v, a.v, b.v); } \
  KERNOPS_INLINE Pack<T> rint(Pack<T> x) { return vrndnq_##type(x.v); }                               \
  KERNOPS_INLINE Pack<T> floor(Pack<T> x) { return vrndmq_##type(x.v); }                              \
  KERNOPS_INLINE Pack<T> ceil(Pack<T> x) { return vrndpq_##type(x.v); }                               \
  KERNOPS_INLINE Pack<T> trunc(Pack<T> x) { return vrndq_##type(x.v); }
KERNOPS_HARDWARE(double, f64)
KERNOPS_HARDWARE(float, f32)
#undef KERNOPS_HARDWARE
#else
KERNOPS_INLINE Pack<double> fma(Pack<double> a, Pack<double> b, Pack<double> c) { return a.v * b.v + c.v; }
KERNOPS_INLINE Pack<float> fma(Pack<float> a, Pack<float> b, Pack<float> c) { return a.v * b.v + c.v; }

// Rounds x to an integer by adding and then subtracting 2^(mantissa bits). The sign of x is restored, so that -0 stays
// -0.
template <class T> KERNOPS_INLINE Pack<T> rint(Pack<T> x) {
  constexpr T large = T(typename Format<T>::Int(1) << Format<T>::mantissa_bits);
  const Pack<T> size = abs(x);
  return select(size < large, copysign((size + large) - large, x), x);
}
template <class T> KERNOPS_INLINE Pack<T> floor(Pack<T> x) {
  const Pack<T> nearest = rint(x);
  return nearest - select(nearest > x, Pack<T>(1), Pack<T>(0));
}
template <class T> KERNOPS_INLINE Pack<T> ceil(Pack<T> x) { return -floor(-x); }
template <class T> KERNOPS_INLINE Pack<T> trunc(Pack<T> x) { return copysign(floor(abs(x)), x); }
#endif

#if KERNOPS_SIMD == 3  // x 2^k for whole k
KERNOPS_INLINE Pack<double> scalef(Pack<double> x, Pack<double> k) { return KERNOPS_INTRINSIC(scalef, pd, x.v, k.v); }
KERNOPS_INLINE Pack<float> scalef(Pack<float> x, Pack<float> k) { return KERNOPS_INTRINSIC(scalef, ps, x.v, k.v); }
// Returns 0 where k < least, and scalef(x, k) elsewhere.
KERNOPS_INLINE Pack<double> scalef_from(double least, Pack<double> x, Pack<double> k) {
  return _mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(k.v, Pack<double>(least).v, _CMP_NLT_UQ), x.v, k.v);
}
KERNOPS_INLINE Pack<float> scalef_from(float least, Pack<float> x, Pack<float> k) {
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(k.v, Pack<float>(least).v, _CMP_NLT_UQ), x.v, k.v);
}
#endif
#undef KERNOPS_INTRINSIC
#undef KERNOPS_ROUND

// The counterpart of significand() in scalar.h. Subnormal numbers are first multiplied by a power of 2.
template <class T> KERNOPS_INLINE Pack<T> significand(Pack<T> x, Pack<T>& power) {
  using F = Format<T>;
  constexpr typename F::Int unit = typename F::Int(1) << F::mantissa_bits;
  constexpr int bias = F::exponent_bias - 1;
  const IntPack<T> field = bits_of(Pack<T>(T(INFINITY)));  // the bits of the exponent field
  const Mask<T> tiny = (bits_of(x) & field) == IntPack<T>(0), has_one = (x != 0) & (abs(x) < T(INFINITY));
  const IntPack<T> bits = bits_of(select(tiny, x * T(unit), x));
  const Pack<T> biased = from_bits(shift_right(bits & field, F::mantissa_bits) | bits_of(Pack<T>(unit))) - T(unit);
  const Pack<T> n = biased - select(tiny, Pack<T>(bias + F::mantissa_bits), Pack<T>(bias));
  power += select(has_one, n, Pack<T>(0));
  return select(has_one, from_bits((bits & ~field) | bits_of(Pack<T>(0.5))), x);
}

// Loads the first `count` lanes from memory, and reads no memory after these lanes. The remaining lanes are 0.
template <class T> KERNOPS_INLINE Pack<T> load_some(const T* from, std::ptrdiff_t count) {
  constexpr int W = Pack<T>::width;
  if (count >= W) return Pack<T>::load(from);
#if KERNOPS_SIMD == 3
  if constexpr (W == 8) return Pack<T>(_mm512_maskz_loadu_pd(__mmask8((1 << count) - 1), from));
#elif KERNOPS_SIMD == 2
  if constexpr (W == 4) return Pack<T>(_mm256_maskload_pd(from, (__m256i)(IntPack<T>::iota() < IntPack<T>(count)).v));
#endif
  T lanes[W] = {};
  std::memcpy(lanes, from, sizeof(T) * count);
  return Pack<T>::load(lanes);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
