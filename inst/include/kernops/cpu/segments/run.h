// Reduces the values of one segment, or of a block of a segment, pack by pack. `j` is the index of the first value.
#pragma once
#include <kernops/cpu/segments/states.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class R, bool skip> OneState<R> reduce_run(const double* x, Count length, Count j) {
  using V = Pack<double>;
  using I = IntPack<double>;
  constexpr int W = V::width;
  constexpr int ways = W < 4 ? 8 : 4;  // each lane of a state adds at most 256 of the 4096 values of a block
  PackState<R> s[ways];
  I at = I::iota() + I(j);
  Count k = 0;
  const auto take = [&](PackState<R>& s, V v) {
    if (skip)
      add_where<R>(v == v, s, v, at);
    else
      R::add(s, v, at);
    at = at + I(W);
  };
  R::start(s[0]);
  if (length >= 2 * ways * W) {
    for (int u = 1; u < ways; ++u) R::start(s[u]);
    for (; k + ways * W <= length; k += ways * W)
      for (int u = 0; u < ways; ++u) take(s[u], V::load(x + k + u * W));
    for (int half = ways / 2; half > 0; half /= 2)
      for (int u = 0; u < half; ++u) R::merge(s[u], s[u + half]);
  }
  for (; k + W <= length; k += W) take(s[0], V::load(x + k));
  if (k < length) {
    const V v = load_some(x + k, length - k);
    const auto inside = I::iota() < I(length - k);
    add_where<R>(skip ? inside & (v == v) : inside, s[0], v, at);
  }
  for (int half = W / 2; half > 0; half /= 2) {
    PackState<R> other;
    for (int n = 0; n < R::values; ++n) other.v[n] = rotate_lanes(s[0].v[n], half);
    for (int n = 0; n < R::indices; ++n) other.j[n] = rotate_lanes(s[0].j[n], half);
    R::merge(s[0], other);
  }
  R::settle(s[0]);
  return lane_of<R>(s[0], 0);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
