// Reductions as segments need them, made of the structs of reductions.h.
//
//   lift(x, n)        the state of value number n alone       add(s, x, n)   it joins s
//   combine(a, b)     two states, a before b                  stage(s)       what is kept of a finished one
//   result(k, begin)  of a segment that begins at value `begin`
#pragma once
#include <kernops/reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> struct SegmentSum {
  using State = T;
  using Staged = T;
  static constexpr bool commutative = true, positions = false;
  template <class V> static KERNOPS_FN State lift(V x, long long) { return T(x); }
  template <class V> static KERNOPS_FN State add(State s, V x, long long) { return s + T(x); }
  static KERNOPS_FN State combine(State a, State b) { return a + b; }
  static KERNOPS_FN Staged stage(State s) { return s; }
  static KERNOPS_FN Staged result(Staged s, long long) { return s; }
};

template <bool condition, class A, class B> struct Either { using type = A; };
template <class A, class B> struct Either<false, A, B> { using type = B; };

template <class T, int values, int indices> struct SegmentState {
  T v[values];
  long long j[indices];
};
template <class T, int values> struct SegmentState<T, values, 0> {
  T v[values];
};

// `output` chooses among the results of R.
template <class R, class T, int output = 0> struct SegmentOp {
  using State = SegmentState<T, R::values, R::indices>;
  static constexpr bool commutative = true, positions = R::indices > 0;
  using Staged = typename Either<positions, double, T>::type;
  template <class V> static KERNOPS_FN State lift(V x, long long n) {
    State s;
    R::start(s);
    R::add(s, T(x), n);
    return s;
  }
  template <class V> static KERNOPS_FN State add(State s, V x, long long n) {
    R::add(s, T(x), n);
    return s;
  }
  static KERNOPS_FN State combine(State a, const State& b) {
    R::merge(a, b);
    return a;
  }
  static KERNOPS_FN Staged stage(const State& s) { return Staged(R::finish(s, output)); }
  static KERNOPS_FN Staged result(Staged s, long long begin) { return positions ? s - begin : s; }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
