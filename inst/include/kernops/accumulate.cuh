// How one thread's row takes in the values of its pairs; the counterpart of accumulate.h.
//
//   start()   add(f, w, j, n): n values at a time, of indices j, j + 1, ...   settle(): after each tile
//   merge(o): o joins, its indices come later   finish(out, stride): the results
//   adopt(j): j is the first of the indices added   any_order: o may also have indices between its own
#pragma once
#include <kernops/reductions.h>
#include <kernops/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Each of the F entries by itself, with a struct of reductions.h; a weighted sum multiplies as it adds.
template <class T, class R, int F, int W, class A> struct EntrywiseRow {
  static constexpr int group = 1;
  static constexpr bool any_order = true;
  // Whether it may be given sums of some pairs instead of theirs.
  static constexpr bool adds_tiles =
      (SameType<R, BlockSum>::value || SameType<R, kernops::DirectSum>::value) && SameType<A, T>::value;
  // How many threads share the registers of a multiprocessor; 0 leaves it to the compiler.
  static constexpr int resident = sizeof(T) == 8 || F == 3 ? 512 : 0;
  State<R, A, int> s[F];

  KERNOPS_FN void start() {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) R::start(s[k]);
  }
  template <int N, int NF, int NW>
  KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&w)[N], int j, int n) {
    KERNOPS_UNROLL
    for (int u = 0; u < N; ++u) {
      if (u >= n) break;
      KERNOPS_UNROLL_FEW(F)
      for (int k = 0; k < F; ++k) R::add(s[k], A(W ? f[u][k] * w[u][k] : f[u][k]), j + u);
    }
  }
  KERNOPS_FN void settle() {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) R::settle(s[k]);
  }
  // Where nothing has beaten infinity, all are equally infinite: the first.
  KERNOPS_FN void adopt(int first) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k)
      if (R::indices > 0 && s[k].j[0] < 0) s[k].j[0] = first;
  }
  KERNOPS_FN void absorb(const EntrywiseRow& o) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) R::absorb(s[k], o.s[k]);
  }
  KERNOPS_FN void scale(A factor) {  // sums only
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) KERNOPS_UNROLL
    for (int n = 0; n < R::values; ++n) s[k].v[n] *= factor;
  }
  KERNOPS_FN void merge(const EntrywiseRow& o) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) R::merge(s[k], o.s[k]);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool any) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) {
      if (R::indices > 0 && s[k].j[0] < 0 && any) s[k].j[0] = 0;  // all are equally infinite: the first
      KERNOPS_UNROLL
      for (int n = 0; n < R::outputs; ++n) out[(n * F + k) * stride] = R::finish(s[k], n);
    }
  }
};

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

// The K most extreme of each entry (sign = 1: smallest, -1: largest), in that order, the earlier first among equals, NaN
// last; j = -1 marks a free place, and there v is NaN, which everything else comes before. Largest values are kept with
// their signs changed.
template <class T, int F, int K, int sign, int first, int last> struct KExtremeRow {
  static constexpr int group = F == 1 ? 4 : 1, resident = 0;
  static constexpr bool any_order = false;
  T v[F][K];
  int j[F][K];

  KERNOPS_FN void start() {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k)
      KERNOPS_UNROLL
      for (int n = 0; n < K; ++n) v[k][n] = not_a_number<T>(), j[k][n] = -1;
  }
  KERNOPS_FN bool is_beyond(T x, int k) const { return x >= v[k][K - 1]; }
  // Pushes everything larger one place back; unrolled for few, so that the list stays in registers.
  KERNOPS_FN void insert(T x, int index, int k) {
    if (is_beyond(x, k)) return;
    if (x != x) return append(x, index, k);
    bool before = true;  // what stands at n
    KERNOPS_UNROLL
    for (int n = K - 1; n > 0; --n) {
      const bool before_last = !(x >= v[k][n - 1]);
      v[k][n] = before_last ? v[k][n - 1] : before ? x : v[k][n];
      j[k][n] = before_last ? j[k][n - 1] : before ? index : j[k][n];
      before = before_last;
    }
    if (before) v[k][0] = x, j[k][0] = index;
  }
  KERNOPS_FN void append(T x, int index, int k) {
    bool done = false;
    KERNOPS_UNROLL
    for (int n = 0; n < K; ++n) {
      const bool here = !done && j[k][n] < 0;
      if (here) v[k][n] = x, j[k][n] = index;
      done = done || here;
    }
  }
  // Most groups hold nothing new.
  template <int N, int NF, int NW>
  KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&)[N], int index, int n) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k) {
      T most = T(-sign) * f[0][k];
      KERNOPS_UNROLL
      for (int u = 1; u < N; ++u)
        if (u < n) most = larger(T(-sign) * f[u][k], most);
      if (is_beyond(-most, k)) continue;
      KERNOPS_UNROLL
      for (int u = 0; u < N; ++u)
        if (u < n) insert(T(sign) * f[u][k], index + u, k);
    }
  }
  KERNOPS_FN void settle() {}
  KERNOPS_FN void adopt(int) {}
  KERNOPS_FN void merge(const KExtremeRow& o) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k)
      for (int n = 0; n < K; ++n)
        if (o.j[k][n] >= 0) insert(o.v[k][n], o.j[k][n], k);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool) {
    KERNOPS_UNROLL_FEW(F)
    for (int k = 0; k < F; ++k)
      KERNOPS_UNROLL
      for (int n = 0; n < K; ++n) {
        if (first == 0) out[(n * F + k) * stride] = j[k][n] < 0 ? T(sign) * infinity<T>() : T(sign) * v[k][n];
        if (last == 1) out[(n * F + k + (first == 0 ? K * F : 0)) * stride] = j[k][n] + 1;
      }
  }
};

// The engines that reductions.def names: of numbers T, F entries reduced, W weights (0 for none), K kept, sums of type A.
namespace engines {
template <class T, int F, int W, int K, class A = T> using Sum = EntrywiseRow<T, BlockSum, F, W, A>;
template <class T, int F, int W, int K, class A = T> using DirectSum = EntrywiseRow<T, kernops::DirectSum, F, W, A>;
template <class T, int F, int W, int K, class A = T> using KahanSum = EntrywiseRow<T, kernops::KahanSum, F, W, A>;
template <class T, int F, int W, int K, class A = T> using LogSumExp = ShiftedExpRow<T, W ? W : 1, Shifted::log_sum, A>;
template <class T, int F, int W, int K, class A = T> using SoftMax = ShiftedExpRow<T, W, Shifted::softmax, A>;
template <class T, int F, int W, int K, class A = T>
using MaxSumShiftExp = ShiftedExpRow<T, W ? W : 1, Shifted::max_and_sums, A>;
template <class T, int F, int W, int K, class A = T> using Min = EntrywiseRow<T, Extreme<1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using Max = EntrywiseRow<T, Extreme<-1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using ArgMin = EntrywiseRow<T, ExtremeAt<1, 1, 1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using ArgMax = EntrywiseRow<T, ExtremeAt<-1, 1, 1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using MinArgMin = EntrywiseRow<T, ExtremeAt<1, 0, 1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using MaxArgMax = EntrywiseRow<T, ExtremeAt<-1, 0, 1>, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using KMin = KExtremeRow<T, F, K, 1, 0, 0>;
template <class T, int F, int W, int K, class A = T> using ArgKMin = KExtremeRow<T, F, K, 1, 1, 1>;
template <class T, int F, int W, int K, class A = T> using KMinArgKMin = KExtremeRow<T, F, K, 1, 0, 1>;
template <class T, int F, int W, int K, class A = T> using KMax = KExtremeRow<T, F, K, -1, 0, 0>;
template <class T, int F, int W, int K, class A = T> using ArgKMax = KExtremeRow<T, F, K, -1, 1, 1>;
template <class T, int F, int W, int K, class A = T> using KMaxArgKMax = KExtremeRow<T, F, K, -1, 0, 1>;
template <class T, int F, int W, int K, class A = T> using Prod = EntrywiseRow<T, Product, F, 0, A>;
template <class T, int F, int W, int K, class A = T> using Mean = EntrywiseRow<T, kernops::Mean, F, 0, A>;
template <class T, int F, int W, int K, class A = T> using Var = EntrywiseRow<T, Variance, F, 0, A>;
template <class T, int F, int W, int K, class A = T> using Any = EntrywiseRow<T, kernops::Any, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using All = EntrywiseRow<T, kernops::All, F, 0, T>;
template <class T, int F, int W, int K, class A = T> using Count = EntrywiseRow<T, CountAll, F, 0, A>;
}  // namespace engines

}  // namespace KERNOPS_ISA
}  // namespace kernops
