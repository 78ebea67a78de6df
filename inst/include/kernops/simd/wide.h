// Types for sums that have a higher precision than their terms.
#pragma once
#include <kernops/simd/hardware.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

struct WideMask {
  Mask<double> low, high;
};

// The lanes of a Pack<float> as doubles.
struct WidePack {
  static constexpr int width = Pack<float>::width, half = width / 2;
  typedef float Half __attribute__((vector_size(KERNOPS_PACK_BYTES / 2)));
  Pack<double> low, high;

  WidePack() = default;
  KERNOPS_INLINE WidePack(Pack<double> low, Pack<double> high) : low(low), high(high) {}
  template <class S, if_number<S> = 0> KERNOPS_INLINE WidePack(S same) : low(same), high(same) {}
  KERNOPS_INLINE explicit WidePack(Pack<float> x) : low(part(x, 0)), high(part(x, 1)) {}
  static KERNOPS_INLINE Pack<double> part(Pack<float> x, int which) {
    Half lanes;
    std::memcpy(&lanes, reinterpret_cast<const char*>(&x.v) + which * sizeof lanes, sizeof lanes);
    return __builtin_convertvector(lanes, Pack<double>::Vector);
  }
  KERNOPS_INLINE Pack<float> narrow() const {
    const Half parts[] = {__builtin_convertvector(low.v, Half), __builtin_convertvector(high.v, Half)};
    Pack<float> x;
    std::memcpy(&x.v, parts, sizeof x.v);
    return x;
  }
  KERNOPS_INLINE double lane(int i) const { return i < half ? low.lane(i) : high.lane(i - half); }

  friend KERNOPS_INLINE WidePack operator+(WidePack a, WidePack b) { return {a.low + b.low, a.high + b.high}; }
  friend KERNOPS_INLINE WidePack operator-(WidePack a, WidePack b) { return {a.low - b.low, a.high - b.high}; }
  friend KERNOPS_INLINE WidePack operator*(WidePack a, WidePack b) { return {a.low * b.low, a.high * b.high}; }
  friend KERNOPS_INLINE WidePack operator/(WidePack a, WidePack b) { return {a.low / b.low, a.high / b.high}; }
  friend KERNOPS_INLINE WidePack operator-(WidePack a) { return {-a.low, -a.high}; }
  friend KERNOPS_INLINE WidePack fma(WidePack a, WidePack b, WidePack c) {
    return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
  }
  friend KERNOPS_INLINE WidePack max(WidePack a, WidePack b) { return {max(a.low, b.low), max(a.high, b.high)}; }
  friend KERNOPS_INLINE WideMask operator==(WidePack a, WidePack b) { return {a.low == b.low, a.high == b.high}; }
  friend KERNOPS_INLINE WidePack select(WideMask m, WidePack yes, WidePack no) {
    return {select(m.low, yes.low, no.low), select(m.high, yes.high, no.high)};
  }
  friend KERNOPS_INLINE WidePack select(Mask<float> m, WidePack yes, WidePack no) {
    return {select(part(m, 0), yes.low, no.low), select(part(m, 1), yes.high, no.high)};
  }
  static KERNOPS_INLINE Mask<double> part(Mask<float> m, int which) {
    typedef std::int32_t Half __attribute__((vector_size(KERNOPS_PACK_BYTES / 2)));
    Half lanes;
    std::memcpy(&lanes, reinterpret_cast<const char*>(&m.v) + which * sizeof lanes, sizeof lanes);
    return {__builtin_convertvector(lanes, Mask<double>::Vector)};
  }
  friend KERNOPS_INLINE WidePack significand(WidePack x, WidePack& power) {
    return {significand(x.low, power.low), significand(x.high, power.high)};
  }
  KERNOPS_INLINE WidePack& operator+=(WidePack b) { return *this = *this + b; }
};

// The pack for sums of type A, whose terms are the lanes of a Pack<T>.
template <class T, class A> struct PackOf { using type = Pack<T>; };
template <> struct PackOf<float, double> { using type = WidePack; };

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
