// Reductions for segments, built from the structs of reductions.h and segment_reductions.h.
//
//   lift(x, n)        the state of the single value x, number n
//   add(s, x, n)      adds value x, number n, to the state s
//   combine(a, b)     joins the states a and b; the values of b are later
//   stage(s)          the part of a finished state from which result() is computed
//   result(k, begin)  the result of a segment that begins at value `begin`
//   is_empty(s)       true if s contains no value, so that the segment has no result
#pragma once
#include <kernops/segment_reductions.h>
#include <kernops/cuda/segments/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T, int values, int indices> struct SegmentState {
  T v[values];
  long long j[indices];
};
template <class T, int values> struct SegmentState<T, values, 0> { T v[values]; };

// A segment reduction by a struct R of reductions.h; `output` selects one of the results of R.
template <class R, class T, bool skip_missing, int output = 0> struct ReducedBy {
  using State = SegmentState<T, R::values, R::indices>;
  using Staged = T;
  static constexpr bool commutative = true, positions = false;
  template <class V> static KERNOPS_FN State lift(V x, long long n) {
    State s;
    R::start(s);
    return add(s, x, n);
  }
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) {
    const T v = number<T>(x);
    if (!skip_missing || v == v) R::add(s, v, n);
    return s;
  }
  static KERNOPS_FN State combine(State a, const State& b) {
    R::merge(a, b);
    return a;
  }
  static KERNOPS_FN Staged stage(const State& s) { return Staged(R::finish(s, output)); }
  static KERNOPS_FN Staged result(Staged s, long long) { return s; }
  static KERNOPS_FN bool is_empty(const State&) { return false; }
};

// A sum without compensation. Rounding errors stay small, because most parts of the sum are joined pairwise.
template <class T, int output> struct ReducedBy<DirectSum, T, false, output> {
  using State = T;
  using Staged = T;
  static constexpr bool commutative = true, positions = false;
  template <class V> static KERNOPS_FN State lift(V x, long long) { return number<T>(x); }
  template <class V> static KERNOPS_FN State add(State s, V x, long long) { return s + number<T>(x); }
  static KERNOPS_FN State combine(State a, State b) { return a + b; }
  static KERNOPS_FN Staged stage(State s) { return s; }
  static KERNOPS_FN Staged result(Staged s, long long) { return s; }
  static KERNOPS_FN bool is_empty(const State&) { return false; }
};

// A sum of whole numbers, which is exact.
struct WholeSum : Settled<1, 1> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0, s.j[0] = 0; }
  template <class S, class V> static KERNOPS_FN void add(S& s, V x, long long) {
    s.v[0] += x - x;
    s.j[0] += x == x ? (long long)(x) : 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] += o.v[0], s.j[0] += o.j[0]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] == 0 ? double(s.j[0]) : double(s.v[0]);
  }
};

// The position of the minimum or maximum in its segment; NaN if no value was added.
template <int sign, class T, bool skip_missing, int output>
struct ReducedBy<FirstExtreme<sign>, T, skip_missing, output> {
  using R = FirstExtreme<sign>;
  using State = SegmentState<T, 1, 1>;
  using Staged = long long;
  static constexpr bool commutative = true, positions = true;
  template <class V> static KERNOPS_FN State lift(V x, long long n) {
    const T v = number<T>(x);
    return {{v}, {skip_missing && v != v ? -1 : n}};
  }
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) { return combine(s, lift(x, n)); }
  static KERNOPS_FN State combine(State a, const State& b) {
    if (b.j[0] < 0) return a;
    if (a.j[0] < 0) return b;
    R::merge(a, b);
    return a;
  }
  static KERNOPS_FN Staged stage(const State& s) { return s.j[0]; }
  static KERNOPS_FN double result(Staged s, long long begin) {
    return s < 0 ? not_a_number<double>() : double(s - begin + 1);
  }
  static KERNOPS_FN bool is_empty(const State&) { return false; }
};

// A reduction by an associative function of the user, F::join(a, b).
template <class F, class T, bool skip_missing> struct ReducedByFormula {
  using State = SegmentState<T, 1, skip_missing>;
  using Staged = T;
  static constexpr bool commutative = false, positions = false;
  template <class V> static KERNOPS_FN State lift(V x, long long) {
    State s;
    s.v[0] = number<T>(x);
    if constexpr (skip_missing) s.j[0] = s.v[0] == s.v[0];
    return s;
  }
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) { return combine(s, lift(x, n)); }
  static KERNOPS_FN State combine(State a, const State& b) {
    if constexpr (skip_missing) {
      if (!b.j[0]) return a;
      if (!a.j[0]) return b;
    }
    a.v[0] = F::join(a.v[0], b.v[0]);
    return a;
  }
  static KERNOPS_FN Staged stage(const State& s) {
    if constexpr (skip_missing)
      if (!s.j[0]) return not_a_number<T>();
    return s.v[0];
  }
  static KERNOPS_FN Staged result(Staged s, long long) { return s; }
  static KERNOPS_FN bool is_empty(const State& s) {
    if constexpr (skip_missing) return !s.j[0];
    return false;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
