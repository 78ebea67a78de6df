// K_v(x) and related functions for many x and one order v, by piecewise polynomials, which are evaluated for one pack
// of x at a time.
#pragma once
#include <kernops/simd/math.h>
#include <kernops/special.h>

namespace kernops {

// The tabulated function: K_v(x), or x^v K_v(x) if `scaled`, or special::matern_k() for a smoothness and a shift, or a
// derivative of one of these three functions with respect to the order.
struct BesselFunction {
  double order;  // v, or the smoothness
  int derivative;
  bool scaled;
  int shift;  // -1 except for special::matern_k()
  double operator()(double x) const {
    return shift < 0 ? special::bessel_k(order, x, derivative, scaled) : special::matern_k(order, x, derivative, shift);
  }
};

// A table of piecewise polynomials, with 16 pieces between successive powers of 2. For example, exp(x) K_v(x) on piece
// n is the sum over k of pieces[n * terms + k] u^k, where u increases from -1 to 1 within the piece. If no polynomial
// approximates the function on a piece, the sum is NaN.
struct BesselTable : BesselFunction {
  // number of low bits of x, which do not select the piece
  static constexpr int low_bits = 48;
  // exponents of the smallest and largest power of 2; the bits of x above `low_bits` if x is in the first piece
  static constexpr int lowest = -30, highest = 9, first = (1023 + lowest) * 16;
  // two additional pieces: one for x = 0, and one for all x outside the table
  static constexpr int zero = (highest - lowest) * 16, outside = zero + 1;
  static constexpr double most = 100;  // largest tabulated order
  int terms;                           // 8 or 16
  double* pieces;
  // the range of pieces that have been filled, with its begin in the lower 32 bits and its end in the upper 32 bits;
  // the range grows while other threads read the table
  std::int64_t known;
};

namespace special {
// src/cpu/bessel_k.cpp defines these functions. A table stays valid until the thread has requested eight other tables.
const BesselTable& bessel_table(const BesselFunction& f);
void fill_bessel_table(const BesselTable& table, double x);  // extends the filled pieces to x
}  // namespace special

inline namespace KERNOPS_ISA {

template <int terms> KERNOPS_INLINE Pack<double> look_up(const BesselTable& table, Pack<double> x) {
  using B = BesselTable;
  using V = Pack<double>;
  using I = IntPack<double>;
  constexpr int W = V::width;
  static_assert(terms % W == 0, "blocks of coefficients");
  const std::int64_t known = __atomic_load_n(&table.known, __ATOMIC_ACQUIRE);
  const I bits = bits_of(x), number = shift_right(bits, B::low_bits) - I(B::first);
  const I place = select((number < I(known >> 32)) & !(number < I(known & 0xffffffff)), number,
                         select(x == V(0), I(B::zero), I(B::outside)));
  const I mantissa = (std::int64_t(1) << 52) - 1;
  const V from_1_to_2 = from_bits(((bits << (52 - B::low_bits)) & mantissa) | bits_of(V(1)));
  const V u = V(2) * from_1_to_2 - V(3), square = u * u;
  V c[terms];
  KERNOPS_IN_REGISTERS
  for (int k = 0; k < terms; k += W) {
    KERNOPS_IN_REGISTERS
    for (int lane = 0; lane < W; ++lane) c[k + lane] = V::load(table.pieces + place.lane(lane) * terms + k);
    transpose(c + k);
  }
  V even = c[terms - 2], odd = c[terms - 1];
  KERNOPS_IN_REGISTERS
  for (int k = terms - 4; k >= 0; k -= 2) even = fma(even, square, c[k]), odd = fma(odd, square, c[k + 1]);
  return fma(odd, u, even) * exp(-x);
}

KERNOPS_INLINE Pack<double> look_up(const BesselTable& table, Pack<double> x) {
  return table.terms == 8 ? look_up<8>(table, x) : look_up<16>(table, x);
}

__attribute__((noinline, cold)) inline Pack<double> fill_and_look_up(const BesselTable& table, Pack<double> x) {
  for (int lane = 0; lane < Pack<double>::width; ++lane) special::fill_bessel_table(table, x.lane(lane));
  const Pack<double> found = look_up(table, x);
  return mend(
      found, isnan(found), [&](double t) { return table(t); }, x);
}

KERNOPS_INLINE Pack<double> read_table(const BesselTable& table, Pack<double> x) {
  const Pack<double> found = look_up(table, x);
  return any(isnan(found)) ? fill_and_look_up(table, x) : found;
}
KERNOPS_INLINE Pack<float> read_table(const BesselTable& table, Pack<float> x) {
  const WidePack wide(x);
  return WidePack(read_table(table, wide.low), read_table(table, wide.high)).narrow();
}

template <class T> KERNOPS_INLINE Pack<T> bessel_function(Pack<T> v, Pack<T> x, BesselFunction f, bool one_order) {
  if (one_order && abs(v.lane(0)) <= T(BesselTable::most)) {
    f.order = v.lane(0);
    return read_table(special::bessel_table(f), x);
  }
  return lanewise([=](T a, T b) { return T(BesselFunction{double(a), f.derivative, f.scaled, f.shift}(b)); }, v, x);
}
template <class T> KERNOPS_INLINE Pack<T> bessel_k(Pack<T> v, Pack<T> x, int derivative, bool scaled, bool one_order) {
  return bessel_function(v, x, {0, derivative, scaled, -1}, one_order);
}
template <class T> KERNOPS_INLINE Pack<T> matern_k(Pack<T> a, Pack<T> x, int derivative, int shift, bool one_order) {
  return bessel_function(a, x, {0, derivative, true, shift}, one_order);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
