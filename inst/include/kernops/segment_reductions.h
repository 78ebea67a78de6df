// Reductions that only segments use, in the form of reductions.h. segments.def names these structs.
#pragma once
#include <kernops/reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The position of the smallest (sign = 1) or largest value. If values are equal, the smallest position is returned. The
// value may be infinite, and values may come in any order.
template <int sign> struct FirstExtreme : Settled<1, 1> {
  static constexpr long long nowhere = 1LL << 62;
  template <class V> static KERNOPS_FN auto reaches(V x, V y) { return sign > 0 ? x <= y : x >= y; }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = sign * infinity<double>(), s.j[0] = nowhere; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto beats = (!reaches(s.v[0], x)) & (s.v[0] == s.v[0]);  // NaN takes precedence over all numbers
    const auto better = beats | ((reaches(x, s.v[0]) | (x != x)) & (j < s.j[0]));
    s.v[0] = select(better, x, s.v[0]);
    s.j[0] = select(better, j, s.j[0]);
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { add(s, o.v[0], o.j[0]); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.j[0] == nowhere ? 0 : double(s.j[0]) + 1;
  }
};
using ArgSmallest = FirstExtreme<1>;
using ArgLargest = FirstExtreme<-1>;

// The logarithm of a sum of exponentials. A value takes only one exponential, because either the new value or the
// earlier maximum is the new maximum, and the exponential of the new maximum minus itself is 1.
struct OnlineLogSumExp : Settled<2> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = -infinity<double>(), s.v[1] = 0; }
  template <class S, class V> static KERNOPS_FN void join(S& s, V x, V mass) {
    const V factor = select(x == s.v[0], V(1), exp(-abs(x - s.v[0])));
    const auto above = x > s.v[0];
    s.v[1] = select(above, s.v[1] * factor + mass, s.v[1] + mass * factor);
    s.v[0] = select(above, x, s.v[0]);
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { join(s, x, V(1)); }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { join(s, o.v[0], o.v[1]); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return double(s.v[0]) + log(double(s.v[1])); }
};

struct Extent : Settled<2> {
  static constexpr int outputs = 2;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = infinity<double>(), s.v[1] = -infinity<double>(); }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = min(s.v[0], x), s.v[1] = max(s.v[1], x);
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[0] = min(s.v[0], o.v[0]), s.v[1] = max(s.v[1], o.v[1]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int n) { return s.v[n]; }
};

// The value with the lowest (sign = 1) or highest index. The index is -1 before the first value is added.
template <int sign> struct Outermost : Settled<1, 1> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0, s.j[0] = -1; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto joins = (s.j[0] < I(0)) | (sign > 0 ? j < s.j[0] : s.j[0] < j);
    s.v[0] = select(joins, x, s.v[0]);
    s.j[0] = select(joins, j, s.j[0]);
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    S with = s;
    add(with, o.v[0], o.j[0]);
    const auto joins = o.j[0] > decltype(s.j[0] + s.j[0])(-1);
    s.v[0] = select(joins, with.v[0], s.v[0]);
    s.j[0] = select(joins, with.j[0], s.j[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.j[0] < 0 ? not_a_number<double>() : double(s.v[0]);
  }
};
using First = Outermost<1>;
using Last = Outermost<-1>;

// Bit operations on whole numbers. The result is stored in j; v is NaN if a value was NaN.
template <char operation> struct Bits : Settled<1, 1> {
  template <class I> static KERNOPS_FN I combine(I a, I b) {
    return operation == '&' ? a & b : operation == '|' ? a | b : a ^ b;
  }
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0, s.j[0] = operation == '&' ? -1 : 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] += x - x;
    s.j[0] = combine(s.j[0], I(whole(select(x == x, x, V(0)))));
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[0] += o.v[0];
    s.j[0] = combine(s.j[0], o.j[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] == 0 ? double(s.j[0]) : double(s.v[0]);
  }
};
using BitAnd = Bits<'&'>;
using BitOr = Bits<'|'>;
using BitXor = Bits<'^'>;

}  // namespace KERNOPS_ISA
}  // namespace kernops
