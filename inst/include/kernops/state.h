// Running states of reductions. A struct of reductions.h defines how many numbers and integers its State contains.
// These members are scalars, or SIMD packs in which each lane is a separate state.
#pragma once
#include <kernops/scalar.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R, class V, class I> struct State {
  V v[R::values];
  I j[R::indices > 0 ? R::indices : 1];
};

template <class V> KERNOPS_FN V infinity() { return V(1) / V(0); }
template <class V> KERNOPS_FN V not_a_number() { return infinity<V>() - infinity<V>(); }

// Adds x in the lanes in which `joins` is true; all other lanes stay unchanged.
template <class R, class S, class M, class V, class I> KERNOPS_FN void add_where(M joins, S& s, V x, I j) {
  S with = s;
  R::add(with, x, j);
  for (int n = 0; n < R::values; ++n) s.v[n] = select(joins, with.v[n], s.v[n]);
  for (int n = 0; n < R::indices; ++n) s.j[n] = select(joins, with.j[n], s.j[n]);
}

// The base of reductions whose settle() has no effect.
template <int values_, int indices_ = 0> struct Settled {
  static constexpr int values = values_, indices = indices_, outputs = 1;
  template <class S> static KERNOPS_FN void settle(S&) {}
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
