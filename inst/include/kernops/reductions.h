// Reductions of one entry: how a running state takes a value, joins another state and becomes a result.
//
// State holds `values` numbers and `indices` integers; they are scalars, or SIMD packs that reduce one lane
// each.
//   neutral()     a value that changes nothing      add(s, x, j)  value x of index j joins
//   settle(s)     called after each tile            merge(s, o)   o joins; of equals the lower index stays
//   absorb(s, o)  o, a sum that was not settled yet, joins
//   finish(s, n)  result n of `outputs`; indices are given back from 1, and 0 where there was none
#pragma once
#include <kernops/scalar.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R, class V, class I> struct State {
  V v[R::values];
  I j[R::indices > 0 ? R::indices : 1];
};

template <class V> KERNOPS_FN V infinity() { return V(1) / V(0); }

// Knuth's TwoSum: sum + error is exactly a + b.
template <class V> KERNOPS_FN void two_sum(V a, V b, V& sum, V& error) {
  sum = a + b;
  const V part = sum - a;
  error = (a - (sum - part)) + (b - part);
}

// A sum with its rounding errors kept aside, as v[0] + v[1]. An infinite sum has no meaningful error.
template <class S, class V> KERNOPS_FN void add_compensated(S& s, V x) {
  V sum, error;
  two_sum(s.v[0], x, sum, error);
  s.v[0] = sum;
  s.v[1] += error;
}
template <class S> KERNOPS_FN auto compensated(const S& s) {
  return s.v[0] - s.v[0] == 0 ? s.v[0] + s.v[1] : s.v[0];
}

struct DirectSum {
  static constexpr int values = 1, indices = 0, outputs = 1;
  template <class V> static KERNOPS_FN V neutral() { return V(0); }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[0] += x; }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] += o.v[0]; }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { s.v[0] += o.v[0]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

// Each term is compensated (Kahan 1965, in Neumaier's order-free form).
struct KahanSum {
  static constexpr int values = 2, indices = 0, outputs = 1;
  template <class V> static KERNOPS_FN V neutral() { return V(0); }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { add_compensated(s, x); }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_compensated(s, o.v[0]);
    s.v[1] += o.v[1];
  }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { merge(s, o); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return compensated(s); }
};

// Plain sums within a tile, compensated from tile to tile: nearly as fast as the first, nearly as exact as
// the second.
struct BlockSum {
  static constexpr int values = 3, indices = 0, outputs = 1;
  template <class V> static KERNOPS_FN V neutral() { return V(0); }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = s.v[2] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[2] += x; }
  template <class S> static KERNOPS_FN void settle(S& s) {
    add_compensated(s, s.v[2]);
    s.v[2] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_compensated(s, o.v[0]);
    s.v[1] += o.v[1];
    s.v[2] += o.v[2];
  }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { s.v[2] += o.v[2]; }
  template <class S> static KERNOPS_FN double finish(S s, int) { return settle(s), compensated(s); }
};

// The most extreme value, sign = 1 for the smallest and -1 for the largest; NaN beats all.
template <int sign> struct Extreme {
  static constexpr int values = 1, indices = 0, outputs = 1;
  template <class V> static KERNOPS_FN V neutral() { return V(sign) * infinity<V>(); }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = sign * infinity<double>(); }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = sign > 0 ? min(s.v[0], x) : max(s.v[0], x);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { add(s, o.v[0], 0); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

// The same with its first index; `first` and `last` choose the results given: 0 the value, 1 the index.
template <int sign, int first, int last> struct ExtremeAt {
  static constexpr int values = 1, indices = 1, outputs = last - first + 1;
  template <class V> static KERNOPS_FN V neutral() { return V(sign) * infinity<V>(); }
  template <class S> static KERNOPS_FN void start(S& s) {
    s.v[0] = sign * infinity<double>();
    s.j[0] = -1;  // until something beats infinity
  }
  template <class V> static KERNOPS_FN auto beats(V x, V y) {
    return (!(sign > 0 ? x >= y : x <= y)) & (y == y);
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto better = beats(x, s.v[0]);
    s.v[0] = select(better, x, s.v[0]);
    s.j[0] = select(better, j, s.j[0]);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    const auto tie = (!beats(s.v[0], o.v[0])) & (!(o.j[0] < 0)) & ((o.j[0] < s.j[0]) | (s.j[0] < 0));
    const auto better = beats(o.v[0], s.v[0]) | tie;
    s.v[0] = select(better, o.v[0], s.v[0]);
    s.j[0] = select(better, o.j[0], s.j[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int n) {
    return first + n == 0 ? double(s.v[0]) : double(s.j[0]) + 1;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
