// Sums of exponentials without overflow, on the GPU; the counterpart of cpu/shifted_exp.h.
#pragma once
#include <kernops/reductions.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Exponentials of exponents from which a shift has been subtracted. The shift of a row is close to the largest exponent
// of the row. If `base_2` is true, the plan has converted the exponents to base 2. For pairs with one weight, this
// saves one instruction per pair.
template <class T, Shifted kind, bool base_2> struct ShiftedPowers {
  static constexpr bool gives_top = kind == Shifted::max_and_sums;

  static KERNOPS_FN T lowest() { return sizeof(T) == 8 ? T(-1e308) : T(-1e38f); }
  // Returns the new shift if the largest exponent is `highest`. The shift of log_sum is at most -lowest(), which is
  // finite. Therefore an infinite exponent minus the shift is Inf, and the result is Inf.
  static KERNOPS_FN T shift(T highest) { return kind == Shifted::log_sum && highest > -lowest() ? -lowest() : highest; }
  static KERNOPS_FN T of(T difference) { return exp2(base_2 ? difference : T(1.4426950408889634) * difference); }
  static KERNOPS_FN T of(T exponent, T shift) {
    return kind != Shifted::log_sum && exponent == shift ? T(1) : of(exponent - shift);
  }
  // The factor that rescales sums if the shift changes from `from` to `to`.
  template <class A> static KERNOPS_FN A change(A from, A to) {
    return from == to ? A(1) : exp2(base_2 ? from - to : A(1.4426950408889634) * (from - to));
  }
  static KERNOPS_FN double natural(double x) { return base_2 ? x * 0.6931471805599453 : x; }
  // The largest exponent. Comparisons ignore NaN exponents, but then `mass`, the sum of the exponentials, is NaN.
  static KERNOPS_FN double top(T shift, double mass) {
    return mass != mass ? mass : shift == lowest() ? -infinity<double>() : natural(shift);
  }
  static KERNOPS_FN double result(double sum, double mass, T shift) {
    return kind == Shifted::softmax ? sum / mass : kind == Shifted::log_sum ? natural(shift) + ::log(sum) : sum;
  }
};

// The maximum by which an exponent may exceed the shift if a pair has many weights. With this limit, exponentials stay
// far below the largest representable number, even after multiplication by large weights.
constexpr int most_excess = 8;

// The type Formula::Powers of a Formula that has no shifted exponents.
struct NoPowers {};
template <class Formula> KERNOPS_FN constexpr bool shifts() {
  return !SameType<typename Formula::Powers, NoPowers>::value;
}

// Sums of exp(f - max f) * w. The maximum of a group of pairs is computed first, so that a pair takes only one
// exponential.
template <class T, int W, Shifted result, class A> struct ShiftedExpRow {
  using Powers = ShiftedPowers<T, result, (W < many_weights)>;
  static constexpr int group = 8, resident = sizeof(T) == 8 ? 512 : 0;
  static constexpr bool any_order = true;
  T shift;
  State<BlockSum, A, int> mass[1], s[W];

  KERNOPS_FN static void scale(State<BlockSum, A, int>& sum, A factor) {
    sum.v[0] *= factor, sum.v[1] *= factor, sum.v[2] *= factor;
  }
  KERNOPS_FN void rescale(T highest) {
    if (!(highest > shift)) return;
    const A factor = Powers::change(A(shift), A(highest));
    shift = highest;
    scale(mass[0], factor);
    KERNOPS_EACH_FEW(k, W) scale(s[k], factor);
  }

  KERNOPS_FN void start() {
    shift = Powers::lowest();
    BlockSum::start(mass[0]);
    KERNOPS_EACH_FEW(k, W) BlockSum::start(s[k]);
  }
  template <int N, int NF, int NW> KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&w)[N], int, int n) {
    T highest = shift;  // larger() ignores NaN, but exp(NaN) makes the sums NaN
    KERNOPS_EACH(u, N)
      if (u < n) highest = larger(f[u][0], highest);
    rescale(Powers::shift(highest));
    KERNOPS_EACH(u, N) {
      if (u >= n) break;
      const T e = Powers::of(f[u][0], shift);
      if (result != Shifted::log_sum) mass[0].v[2] += e;
      KERNOPS_EACH_FEW(k, W) s[k].v[2] += e * w[u][k];
    }
  }
  KERNOPS_FN void settle() {
    BlockSum::settle(mass[0]);
    KERNOPS_EACH_FEW(k, W) BlockSum::settle(s[k]);
  }
  KERNOPS_FN void adopt(int) {}
  KERNOPS_FN void merge(ShiftedExpRow o) {
    const T highest = max(shift, o.shift);
    rescale(highest);
    o.rescale(highest);
    BlockSum::merge(mass[0], o.mass[0]);
    KERNOPS_EACH_FEW(k, W) BlockSum::merge(s[k], o.s[k]);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool) {
    const double total = BlockSum::finish(mass[0], 0);
    constexpr int first = Powers::gives_top;
    if (first) out[0] = Powers::top(shift, total);
    KERNOPS_EACH_FEW(k, W) out[(first + k) * stride] = Powers::result(BlockSum::finish(s[k], 0), total, shift);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
