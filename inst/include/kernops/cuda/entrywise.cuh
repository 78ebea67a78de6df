// Reduces each entry of f separately, on the GPU; the counterpart of cpu/entrywise.h.
#pragma once
#include <kernops/reductions.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Joins the state o, for which settle() has not been called, to the state s. A reduction R may define its own absorb().
template <class R, class S> KERNOPS_FN auto absorb(S& s, const S& o, int) -> decltype(R::absorb(s, o)) {
  R::absorb(s, o);
}
template <class R, class S> KERNOPS_FN void absorb(S& s, S o, long) {
  R::settle(o);
  R::merge(s, o);
}

// The state of F entries, each of which a struct of reductions.h reduces separately. A weighted sum multiplies each
// value by its weight before the addition.
template <class T, class R, int F, int W, class A> struct EntrywiseRow {
  static constexpr int group = 1;
  static constexpr bool any_order = true;
  // True if a caller may first sum the values of several pairs, and then add this sum to the state.
  static constexpr bool adds_tiles =
      (SameType<R, BlockSum>::value || SameType<R, kernops::DirectSum>::value) && SameType<A, T>::value;
  // Minimum number of resident threads per multiprocessor, which limits the registers of a thread. 0 leaves this choice
  // to the compiler.
  static constexpr int resident = sizeof(T) == 8 || F == 3 ? 512 : 0;
  State<R, A, int> s[F];

  KERNOPS_FN void start() {
    KERNOPS_EACH_FEW(k, F) R::start(s[k]);
  }
  template <int N, int NF, int NW>
  KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&w)[N], int j, int n) {
    KERNOPS_EACH(u, N) {
      if (u >= n) break;
      KERNOPS_EACH_FEW(k, F) R::add(s[k], A(W ? f[u][k] * w[u][k] : f[u][k]), j + u);
    }
  }
  KERNOPS_FN void settle() {
    KERNOPS_EACH_FEW(k, F) R::settle(s[k]);
  }
  // If all values are infinite and equal, no value is better than the initial state. In this case, the result is the
  // first value.
  KERNOPS_FN void adopt(int first) {
    KERNOPS_EACH_FEW(k, F)
      if (R::indices > 0 && s[k].j[0] < 0) s[k].j[0] = first;
  }
  KERNOPS_FN void absorb(const EntrywiseRow& o) {
    KERNOPS_EACH_FEW(k, F) kernops::absorb<R>(s[k], o.s[k], 0);
  }
  KERNOPS_FN void scale(A factor) {  // sums only
    KERNOPS_EACH_FEW(k, F)
      KERNOPS_EACH(n, R::values) s[k].v[n] *= factor;
  }
  KERNOPS_FN void scale_entries(const T* factors) {
    KERNOPS_EACH_FEW(k, F)
      KERNOPS_EACH(n, R::values) s[k].v[n] *= factors[k];
  }
  KERNOPS_FN void merge(const EntrywiseRow& o) {
    KERNOPS_EACH_FEW(k, F) R::merge(s[k], o.s[k]);
  }
  KERNOPS_FN void finish(double* out, long long stride, bool any) {
    KERNOPS_EACH_FEW(k, F) {
      // all values are infinite and equal: the result is the first value
      if (R::indices > 0 && s[k].j[0] < 0 && any) s[k].j[0] = 0;
      KERNOPS_EACH(n, R::outputs) out[(n * F + k) * stride] = R::finish(s[k], n);
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
