// Sorted lists of the K smallest or largest values, on the GPU; the counterpart of cpu/k_extreme.h.
#pragma once
#include <kernops/state.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The K most extreme values of each entry (sign = 1: smallest, sign = -1: largest), in order. If two values are equal,
// the value with the smaller index comes first. NaN comes after all numbers. If j = -1, the slot is free and its v is
// NaN; free slots come last. If the list has the largest values, the stored values have the opposite sign.
template <class T, int F, int K, int sign, int first, int last> struct KExtremeRow {
  static constexpr int group = F == 1 ? 4 : 1, resident = 0;
  static constexpr bool any_order = false;
  T v[F][K];
  int j[F][K];

  KERNOPS_FN void start() {
    KERNOPS_EACH_FEW(k, F)
      KERNOPS_EACH(n, K) v[k][n] = not_a_number<T>(), j[k][n] = -1;
  }
  KERNOPS_FN bool is_beyond(T x, int k) const { return x >= v[k][K - 1]; }
  // Inserts x, and moves all larger values back by one slot. The loop is unrolled for short lists, so that a list stays
  // in registers.
  KERNOPS_FN void insert(T x, int index, int k) {
    if (is_beyond(x, k)) return;
    if (x != x) return append(x, index, k);
    bool before = true;  // true if x comes before the value in slot n
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
    KERNOPS_EACH(n, K) {
      const bool here = !done && j[k][n] < 0;
      if (here) v[k][n] = x, j[k][n] = index;
      done = done || here;
    }
  }
  // Adds a group of values. A single test rejects most groups, because most groups have no value that enters the list.
  template <int N, int NF, int NW>
  KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&)[N], int index, int n) {
    KERNOPS_EACH_FEW(k, F) {
      T most = T(-sign) * f[0][k];
      KERNOPS_UNROLL
      for (int u = 1; u < N; ++u)
        if (u < n) most = larger(T(-sign) * f[u][k], most);
      if (is_beyond(-most, k)) continue;
      KERNOPS_EACH(u, N)
        if (u < n) insert(T(sign) * f[u][k], index + u, k);
    }
  }
  KERNOPS_FN void settle() {}
  KERNOPS_FN void adopt(int) {}
  KERNOPS_FN void merge(const KExtremeRow& o) {
    KERNOPS_EACH_FEW(k, F)
      for (int n = 0; n < K; ++n)
        if (o.j[k][n] >= 0) insert(o.v[k][n], o.j[k][n], k);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool) {
    KERNOPS_EACH_FEW(k, F)
      KERNOPS_EACH(n, K) {
        if (first == 0) out[(n * F + k) * stride] = j[k][n] < 0 ? T(sign) * infinity<T>() : T(sign) * v[k][n];
        if (last == 1) out[(n * F + k + (first == 0 ? K * F : 0)) * stride] = j[k][n] + 1;
      }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
