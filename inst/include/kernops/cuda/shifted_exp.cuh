// Sums of exponentials that do not overflow, on the GPU; the counterpart of cpu/shifted_exp.h.
#pragma once
#include <kernops/reductions.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Sums of 2^(f - max f) * w: the plan has brought f to base 2. The maximum of a group is taken first, so there is one
// exponential per pair.
template <class T, int W, Shifted result, class A> struct ShiftedExpRow {
  static constexpr int group = 8, resident = sizeof(T) == 8 ? 512 : 0;
  static constexpr bool any_order = true;
  T shift;
  State<BlockSum, A, int> mass[1], s[W];

  static KERNOPS_FN T lowest() { return sizeof(T) == 8 ? T(-1e308) : T(-1e38f); }
  KERNOPS_FN static void scale(State<BlockSum, A, int>& sum, A factor) {
    sum.v[0] *= factor, sum.v[1] *= factor, sum.v[2] *= factor;
  }
  KERNOPS_FN void rescale(T highest) {
    if (!(highest > shift)) return;
    const A factor = exp2(A(shift) - A(highest));
    shift = highest;
    scale(mass[0], factor);
    KERNOPS_UNROLL_FEW(W)
    for (int k = 0; k < W; ++k) scale(s[k], factor);
  }

  KERNOPS_FN void start() {
    shift = lowest();
    BlockSum::start(mass[0]);
    KERNOPS_UNROLL_FEW(W)
    for (int k = 0; k < W; ++k) BlockSum::start(s[k]);
  }
  template <int N, int NF, int NW> KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&w)[N], int, int n) {
    T highest = shift;  // a NaN is not the larger one, and reaches the sums by exp()
    KERNOPS_UNROLL
    for (int u = 0; u < N; ++u)
      if (u < n) highest = larger(f[u][0], highest);
    if (result == Shifted::log_sum && highest > -lowest()) highest = -lowest();  // so that Inf minus it is Inf
    rescale(highest);
    KERNOPS_UNROLL
    for (int u = 0; u < N; ++u) {
      if (u >= n) break;
      const T e = result != Shifted::log_sum && f[u][0] == shift ? T(1) : exp2(f[u][0] - shift);
      if (result == Shifted::softmax) mass[0].v[2] += e;
      KERNOPS_UNROLL_FEW(W)
      for (int k = 0; k < W; ++k) s[k].v[2] += e * w[u][k];
    }
  }
  KERNOPS_FN void settle() {
    BlockSum::settle(mass[0]);
    KERNOPS_UNROLL_FEW(W)
    for (int k = 0; k < W; ++k) BlockSum::settle(s[k]);
  }
  KERNOPS_FN void adopt(int) {}
  KERNOPS_FN void merge(ShiftedExpRow o) {
    const T highest = max(shift, o.shift);
    rescale(highest);
    o.rescale(highest);
    BlockSum::merge(mass[0], o.mass[0]);
    KERNOPS_UNROLL_FEW(W)
    for (int k = 0; k < W; ++k) BlockSum::merge(s[k], o.s[k]);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool) {
    const double total = BlockSum::finish(mass[0], 0), ln_2 = 0.6931471805599453;
    constexpr int first = result == Shifted::max_and_sums;
    if (first) out[0] = shift == lowest() ? -infinity<double>() : double(shift) * ln_2;
    KERNOPS_UNROLL_FEW(W)
    for (int k = 0; k < W; ++k) {
      const double sum = BlockSum::finish(s[k], 0);
      out[(first + k) * stride] = result == Shifted::softmax   ? sum / total
                                  : result == Shifted::log_sum ? (double(shift) + ::log2(sum)) * ln_2
                                                               : sum;
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
