// Sums of exponentials without overflow, on the GPU; the counterpart of cpu/shifted_exp.h.
#pragma once
#include <kernops/reductions.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Exponentials, computed after subtraction of a shift from the exponents. The shift is the largest exponent of the row,
// or nearly so. The plan may have converted exponents to base 2, which saves one instruction per pair if there is one
// weight.
template <class T, Shifted kind, bool base_2> struct ShiftedPowers {
  static constexpr bool gives_top = kind == Shifted::max_and_sums;

  static KERNOPS_FN T lowest() { return sizeof(T) == 8 ? T(-1e308) : T(-1e38f); }
  // The new shift when the largest exponent is `highest`. The shift of log_sum is at most -lowest(), so that Inf minus
  // the shift is Inf and reaches the result.
  static KERNOPS_FN T shift(T highest) { return kind == Shifted::log_sum && highest > -lowest() ? -lowest() : highest; }
  static KERNOPS_FN T of(T difference) { return exp2(base_2 ? difference : T(1.4426950408889634) * difference); }
  static KERNOPS_FN T of(T exponent, T shift) {
    return kind != Shifted::log_sum && exponent == shift ? T(1) : of(exponent - shift);
  }
  // The factor by which sums are rescaled when the shift changes.
  template <class A> static KERNOPS_FN A change(A from, A to) {
    return from == to ? A(1) : exp2(base_2 ? from - to : A(1.4426950408889634) * (from - to));
  }
  static KERNOPS_FN double natural(double x) { return base_2 ? x * 0.6931471805599453 : x; }
  // The largest exponent. Comparisons skip a NaN exponent, but `mass`, the sum of exponentials, is then NaN.
  static KERNOPS_FN double top(T shift, double mass) {
    return mass != mass ? mass : shift == lowest() ? -infinity<double>() : natural(shift);
  }
  static KERNOPS_FN double result(double sum, double mass, T shift) {
    return kind == Shifted::softmax ? sum / mass : kind == Shifted::log_sum ? natural(shift) + ::log(sum) : sum;
  }
};

// The maximum by which an exponent exceeds the shift if there are many weights: exponentials then stay far below the
// largest representable number, even when multiplied by large weights.
constexpr int most_excess = 8;

// The exponentials of a Formula without shifted exponents.
struct NoPowers {};
template <class Formula> KERNOPS_FN constexpr bool shifts() {
  return !SameType<typename Formula::Powers, NoPowers>::value;
}

// Sums of exp(f - max f) * w. The maximum of a group is computed first, so there is one exponential per pair.
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
    T highest = shift;  // NaN is never the larger value; it reaches the sums through exp()
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
