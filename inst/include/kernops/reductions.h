// Reductions of one entry: how a running state takes a value, joins another state and becomes a result.
//
// State holds `values` numbers and `indices` integers; they are scalars, or SIMD packs that reduce one lane
// each.
//   start(s)      nothing has joined yet            add(s, x, j)  value x of index j joins
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
template <class V> KERNOPS_FN V not_a_number() { return infinity<V>() - infinity<V>(); }

// The lanes where `joins` holds take x in, the others stay as they are.
template <class R, class S, class M, class V, class I> KERNOPS_FN void add_where(M joins, S& s, V x, I j) {
  S with = s;
  R::add(with, x, j);
  for (int n = 0; n < R::values; ++n) s.v[n] = select(joins, with.v[n], s.v[n]);
  for (int n = 0; n < R::indices; ++n) s.j[n] = select(joins, with.j[n], s.j[n]);
}

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

// What is made of max f and sums of exp(f - max f): the log of a sum, weighted means, or they themselves.
enum class Shifted { log_sum, softmax, max_and_sums };

struct DirectSum {
  static constexpr int values = 1, indices = 0, outputs = 1;
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

// ---- what formulas and segments have in common beyond sums and extremes

// A struct whose states need no settling.
template <int values_, int indices_ = 0> struct Settled {
  static constexpr int values = values_, indices = indices_, outputs = 1;
  template <class S> static KERNOPS_FN void settle(S&) {}
};

struct Product : Settled<1> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 1; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[0] = s.v[0] * x; }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { add(s, o.v[0], 0); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

// How many there are, exact beyond 2^24 in float, too.
struct CountAll : BlockSum {
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V, I) { s.v[2] += V(1); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return double(s.v[0]) + double(s.v[1]) + double(s.v[2]);
  }
};

// A sum, and how many there are: in this tile, and in those before.
template <class Total> struct MeanOf {
  static constexpr int values = Total::values + 2, indices = 0, outputs = 1, tile = Total::values, all = tile + 1;
  template <class S> static KERNOPS_FN void start(S& s) { Total::start(s), s.v[tile] = s.v[all] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    Total::add(s, x, j);
    s.v[tile] += V(1);
  }
  template <class S> static KERNOPS_FN void settle(S& s) {
    Total::settle(s);
    s.v[all] += s.v[tile];
    s.v[tile] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    Total::merge(s, o);
    s.v[tile] += o.v[tile];
    s.v[all] += o.v[all];
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return Total::finish(s, 0) / (double(s.v[tile]) + double(s.v[all]));
  }
};
using Mean = MeanOf<BlockSum>;

// Of a tile: a shift, which is its first value, the number of values, the sums of x - shift and of its square; since the
// shift is one of few values, little is lost in the difference of the sums. Of the tiles before: number, mean (as a
// shift and what is added to it) and sum of squared deviations, joined as by Chan, Golub and LeVeque (1983).
struct Variance {
  static constexpr int values = 8, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) {
    for (auto& v : s.v) v = 0;
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = select(s.v[1] == V(0), x, s.v[0]);
    const V d = x - s.v[0];
    s.v[1] += V(1);
    s.v[2] += d;
    s.v[3] = fma(d, d, s.v[3]);  // said, not left to the compiler, so that all copies of this code round alike
  }
  template <class S, class V> static KERNOPS_FN void join(S& s, V n, V shift, V above, V squares) {
    const V total = s.v[4] + n, share = n / total, d = (shift - s.v[5]) + (above - s.v[6]);
    const auto fresh = s.v[4] == V(0), nothing = n == V(0);
    const V both = s.v[7] + fma(d * d, s.v[4] * share, squares), moved = fma(d, share, s.v[6]);
    s.v[4] = total;
    s.v[5] = select(fresh, shift, s.v[5]);
    s.v[6] = select(nothing, s.v[6], select(fresh, above, moved));
    s.v[7] = select(nothing, s.v[7], select(fresh, squares, both));
  }
  template <class S> static KERNOPS_FN void settle(S& s) {
    const auto n = s.v[1], above = s.v[2] / n;
    decltype(s.v[2] * above) zero = 0;
    join(s, n, s.v[0], above, max(fma(-s.v[2], above, s.v[3]), zero));
    s.v[0] = s.v[1] = s.v[2] = s.v[3] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, S o) {
    settle(s), settle(o);
    join(s, o.v[4], o.v[5], o.v[6], o.v[7]);
  }
  template <class S> static KERNOPS_FN double finish(S s, int) {
    settle(s);
    return s.v[4] > 1 ? double(s.v[7]) / (double(s.v[4]) - 1) : not_a_number<double>();
  }
};

struct Deviation : Variance {
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return sqrt(Variance::finish(s, 0)); }
};

// 0 for false, 1 for true, and NaN between them: it does not matter where one decides.
template <class V> KERNOPS_FN V truth_of(V x) {
  return select(x == x, select(x == V(0), V(0), V(1)), V(0.5));
}
template <int sign> struct Decides : Settled<1> {  // sign = 1: all, -1: any
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = sign > 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = sign > 0 ? min(s.v[0], truth_of(x)) : max(s.v[0], truth_of(x));
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[0] = sign > 0 ? min(s.v[0], o.v[0]) : max(s.v[0], o.v[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] == 0.5 ? not_a_number<double>() : double(s.v[0]);
  }
};
using All = Decides<1>;
using Any = Decides<-1>;

}  // namespace KERNOPS_ISA
}  // namespace kernops
