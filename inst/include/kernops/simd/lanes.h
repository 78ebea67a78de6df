// A pack of float or double lanes that is used like a number: operators, comparisons, select() and those functions of
// <cmath> that take a few instructions. A pack holds one value of a vector type of the compiler; intrinsics are used
// only where this type has no operator. All functions are inlined, so that packs stay in registers.
#pragma once

#include <kernops/simd/isa.h>

#ifndef KERNOPS_ISA_MISSING

// Unrolls the short loop that follows, so that the packs of this loop stay in registers.
#ifdef __clang__
#define KERNOPS_IN_REGISTERS _Pragma("unroll")
#else
#define KERNOPS_IN_REGISTERS _Pragma("GCC unroll 8")
#endif

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> struct Format;
template <> struct Format<double> {
  using Int = std::int64_t;
  static constexpr int mantissa_bits = 52, exponent_bias = 1023;
};
template <> struct Format<float> {
  using Int = std::int32_t;
  static constexpr int mantissa_bits = 23, exponent_bias = 127;
};

template <class T> struct Pack;
template <class T> struct IntPack;

template <class S> using if_number = std::enable_if_t<std::is_arithmetic<S>::value, int>;

// A mask of lanes, in which either all bits or no bits of a lane are set.
template <class T> struct Mask {
  using Int = typename Format<T>::Int;
  static constexpr int width = KERNOPS_PACK_BYTES / sizeof(T);
  typedef Int Vector __attribute__((vector_size(KERNOPS_PACK_BYTES), aligned(KERNOPS_PACK_ALIGN)));
  Vector v;

  KERNOPS_INLINE bool lane(int i) const { return v[i] != 0; }

  friend KERNOPS_INLINE Mask operator&(Mask a, Mask b) { return {a.v & b.v}; }
  friend KERNOPS_INLINE Mask operator|(Mask a, Mask b) { return {a.v | b.v}; }
  friend KERNOPS_INLINE Mask operator!(Mask a) { return {~a.v}; }
  friend KERNOPS_INLINE bool all(Mask a) { return !any(!a); }
  friend KERNOPS_INLINE Pack<T> select(Mask m, Pack<T> yes, Pack<T> no) { return {m.v ? yes.v : no.v}; }
  friend KERNOPS_INLINE IntPack<T> select(Mask m, IntPack<T> yes, IntPack<T> no) { return {m.v ? yes.v : no.v}; }
};

template <class T> struct Pack {
  using Scalar = T;
  static constexpr int width = KERNOPS_PACK_BYTES / sizeof(T);
  typedef T Vector __attribute__((vector_size(KERNOPS_PACK_BYTES), aligned(KERNOPS_PACK_ALIGN)));
  Vector v;

  Pack() = default;
  KERNOPS_INLINE Pack(Vector lanes) : v(lanes) {}
  template <class S, if_number<S> = 0> KERNOPS_INLINE Pack(S same) : v(T(same) - Vector{}) {}

  static KERNOPS_INLINE Pack load(const T* from) {
    Pack x;
    std::memcpy(&x.v, from, sizeof x.v);
    return x;
  }
  KERNOPS_INLINE void store(T* to) const { std::memcpy(to, &v, sizeof v); }
  KERNOPS_INLINE T lane(int i) const { return v[i]; }

  friend KERNOPS_INLINE Pack operator+(Pack a, Pack b) { return a.v + b.v; }
  friend KERNOPS_INLINE Pack operator-(Pack a, Pack b) { return a.v - b.v; }
  friend KERNOPS_INLINE Pack operator*(Pack a, Pack b) { return a.v * b.v; }
  friend KERNOPS_INLINE Pack operator/(Pack a, Pack b) { return a.v / b.v; }
  friend KERNOPS_INLINE Pack operator-(Pack a) { return -a.v; }
  KERNOPS_INLINE Pack& operator+=(Pack b) { return *this = *this + b; }
  KERNOPS_INLINE Pack& operator-=(Pack b) { return *this = *this - b; }
  KERNOPS_INLINE Pack& operator*=(Pack b) { return *this = *this * b; }
  KERNOPS_INLINE Pack& operator/=(Pack b) { return *this = *this / b; }

  friend KERNOPS_INLINE Mask<T> operator<(Pack a, Pack b) { return {a.v < b.v}; }
  friend KERNOPS_INLINE Mask<T> operator>(Pack a, Pack b) { return {a.v > b.v}; }
  friend KERNOPS_INLINE Mask<T> operator<=(Pack a, Pack b) { return {a.v <= b.v}; }
  friend KERNOPS_INLINE Mask<T> operator>=(Pack a, Pack b) { return {a.v >= b.v}; }
  friend KERNOPS_INLINE Mask<T> operator==(Pack a, Pack b) { return {a.v == b.v}; }
  friend KERNOPS_INLINE Mask<T> operator!=(Pack a, Pack b) { return {a.v != b.v}; }

  friend KERNOPS_INLINE Mask<T> isnan(Pack x) { return x != x; }
  friend KERNOPS_INLINE Pack abs(Pack x) { return from_bits(bits_of(x) & ~sign_bit()); }
  friend KERNOPS_INLINE Pack copysign(Pack size, Pack sign) {
    return from_bits((bits_of(size) & ~sign_bit()) | (bits_of(sign) & sign_bit()));
  }
  // The result is NaN if an argument is NaN. (In this case, smaller() and larger() return b.)
  friend KERNOPS_INLINE Pack min(Pack a, Pack b) { return select(isnan(a), a, smaller(a, b)); }
  friend KERNOPS_INLINE Pack max(Pack a, Pack b) { return select(isnan(a), a, larger(a, b)); }

  static KERNOPS_INLINE IntPack<T> sign_bit() { return bits_of(Pack(T(-0.0))); }
};

// Integer lanes as wide as those of Pack<T>: positions, counts, and bit patterns of a Pack<T>.
template <class T> struct IntPack {
  using Scalar = typename Format<T>::Int;
  static constexpr int width = Pack<T>::width;
  typedef Scalar Vector __attribute__((vector_size(KERNOPS_PACK_BYTES), aligned(KERNOPS_PACK_ALIGN)));
  typedef std::make_unsigned_t<Scalar> Unsigned
      __attribute__((vector_size(KERNOPS_PACK_BYTES), aligned(KERNOPS_PACK_ALIGN)));  // for wrapping arithmetic
  Vector v;

  IntPack() = default;
  KERNOPS_INLINE IntPack(Vector lanes) : v(lanes) {}
  template <class S, if_number<S> = 0> KERNOPS_INLINE IntPack(S same) : v(Scalar(same) - Vector{}) {}

  static KERNOPS_INLINE IntPack load(const Scalar* from) {
    IntPack x;
    std::memcpy(&x.v, from, sizeof x.v);
    return x;
  }
  KERNOPS_INLINE void store(Scalar* to) const { std::memcpy(to, &v, sizeof v); }
  KERNOPS_INLINE Scalar lane(int i) const { return v[i]; }
  static KERNOPS_INLINE IntPack iota() {
    IntPack x;
    for (int i = 0; i < width; ++i) x.v[i] = i;
    return x;
  }

  friend KERNOPS_INLINE IntPack operator+(IntPack a, IntPack b) { return (Vector)((Unsigned)a.v + (Unsigned)b.v); }
  friend KERNOPS_INLINE IntPack operator-(IntPack a, IntPack b) { return (Vector)((Unsigned)a.v - (Unsigned)b.v); }
  friend KERNOPS_INLINE IntPack operator&(IntPack a, IntPack b) { return a.v & b.v; }
  friend KERNOPS_INLINE IntPack operator|(IntPack a, IntPack b) { return a.v | b.v; }
  friend KERNOPS_INLINE IntPack operator^(IntPack a, IntPack b) { return a.v ^ b.v; }
  friend KERNOPS_INLINE IntPack operator~(IntPack a) { return ~a.v; }
  friend KERNOPS_INLINE IntPack operator<<(IntPack a, int bits) { return (Vector)((Unsigned)a.v << bits); }
  friend KERNOPS_INLINE IntPack shift_right(IntPack a, int bits) {  // shifts zeros in from the left
    return (Vector)((Unsigned)a.v >> bits);
  }
  friend KERNOPS_INLINE Mask<T> operator==(IntPack a, IntPack b) { return {a.v == b.v}; }
  friend KERNOPS_INLINE Mask<T> operator<(IntPack a, IntPack b) { return {a.v < b.v}; }
  friend KERNOPS_INLINE Mask<T> operator>(IntPack a, IntPack b) { return {a.v > b.v}; }
};

template <class T> KERNOPS_INLINE IntPack<T> bits_of(Pack<T> x) { return (typename IntPack<T>::Vector)x.v; }
template <class T> KERNOPS_INLINE Pack<T> from_bits(IntPack<T> b) { return (typename Pack<T>::Vector)b.v; }

// Lane i of the result is lane i + `by` of x, modulo the number of lanes.
template <class P> KERNOPS_INLINE P rotate_lanes(P x, int by) {
#ifdef __clang__
  P moved;
  for (int i = 0; i < P::width; ++i) moved.v[i] = x.v[(i + by) % P::width];
  return moved;
#else
  using T = std::conditional_t<sizeof(typename P::Scalar) == 8, double, float>;
  return P(__builtin_shuffle(x.v, (IntPack<T>::iota() + IntPack<T>(by)).v));  // modulo the width
#endif
}

// Returns alternately `step` lanes of a and `step` lanes of b. The lanes of a and b are divided into groups of 2 * step
// lanes. The result has the first halves of all groups or, if `second` is true, the second halves.
template <class T> KERNOPS_INLINE Pack<T> interleave(Pack<T> a, Pack<T> b, int step, bool second) {
  constexpr int W = Pack<T>::width;
  typename IntPack<T>::Vector from;
  for (int i = 0; i < W; ++i) from[i] = (i & ~step) + (second ? step : 0) + (i & step ? W : 0);
#ifdef __clang__
  Pack<T> x;
  for (int i = 0; i < W; ++i) x.v[i] = from[i] < W ? a.v[from[i]] : b.v[from[i] - W];
  return x;
#else
  return Pack<T>(__builtin_shuffle(a.v, b.v, from));
#endif
}

// Transposes a square of packs: lane j of pack i becomes lane i of pack j.
template <class T> KERNOPS_INLINE void transpose(Pack<T>* rows) {
  KERNOPS_IN_REGISTERS
  for (int step = 1; step < Pack<T>::width; step *= 2) {
    KERNOPS_IN_REGISTERS
    for (int i = 0; i < Pack<T>::width; ++i) {
      if (i & step) continue;
      const Pack<T> a = rows[i], b = rows[i + step];
      rows[i] = interleave(a, b, step, false);
      rows[i + step] = interleave(a, b, step, true);
    }
  }
}

// Converts lanes to whole numbers.
template <class T> KERNOPS_INLINE IntPack<T> whole(Pack<T> x) {
  IntPack<T> n;
  for (int i = 0; i < Pack<T>::width; ++i) n.v[i] = typename IntPack<T>::Scalar(x.v[i]);
  return n;
}

// The type of the second argument of a function. The compiler does not deduce T from this argument, so that callers may
// pass a number, which is converted to a pack.
template <class T> using same_pack = std::enable_if_t<std::is_floating_point<T>::value, Pack<T>>;

// Applies a scalar function lane by lane.
template <class F, class T> KERNOPS_INLINE Pack<T> lanewise(F f, Pack<T> x) {
  for (int i = 0; i < Pack<T>::width; ++i) x.v[i] = f(x.v[i]);
  return x;
}
template <class F, class T> KERNOPS_INLINE Pack<T> lanewise(F f, Pack<T> x, Pack<T> y) {
  for (int i = 0; i < Pack<T>::width; ++i) x.v[i] = f(x.v[i], y.v[i]);
  return x;
}

// Computes again, by a scalar function, the lanes in which the result of vector code is wrong; such lanes are rare. All
// other lanes keep their results, so that the result of a lane does not depend on other lanes.
template <class F, class T, class... Packs>
__attribute__((noinline, cold)) Pack<T> mend_lanes(Pack<T> result, Mask<T> wrong, F f, Packs... x) {
  for (int i = 0; i < Pack<T>::width; ++i)
    if (wrong.lane(i)) result.v[i] = f(x.lane(i)...);
  return result;
}
template <class F, class T, class... Packs>
KERNOPS_INLINE Pack<T> mend(Pack<T> result, Mask<T> wrong, F f, Packs... x) {
  return any(wrong) ? mend_lanes(result, wrong, f, x...) : result;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
