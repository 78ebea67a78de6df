// The smallest and largest values, and their positions, in the form of reductions.h.
#pragma once
#include <kernops/state.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The smallest (sign = 1) or largest (sign = -1) value. NaN takes precedence over all numbers.
template <int sign> struct Extreme : Settled<1> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = sign * infinity<double>(); }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = sign > 0 ? min(s.v[0], x) : max(s.v[0], x);
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { add(s, o.v[0], 0); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

// The smallest (sign = 1) or largest (sign = -1) value, with the index of its first occurrence. The results have the
// numbers `first` .. `last`: result 0 is the value, and result 1 is the index.
template <int sign, int first, int last> struct ExtremeAt : Settled<1, 1> {
  static constexpr int outputs = last - first + 1;
  template <class S> static KERNOPS_FN void start(S& s) {
    s.v[0] = sign * infinity<double>();
    s.j[0] = -1;  // the index stays -1 until a value is more extreme than the initial infinity
  }
  template <class V> static KERNOPS_FN auto beats(V x, V y) { return (!(sign > 0 ? x >= y : x <= y)) & (y == y); }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto better = beats(x, s.v[0]);
    s.v[0] = select(better, x, s.v[0]);
    s.j[0] = select(better, j, s.j[0]);
  }
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
