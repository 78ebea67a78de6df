// The statistics of segments and slices, in the manner of reductions.h: a running state takes values, joins
// another state and becomes results. A value comes with its position j; positions may come in any order.
#pragma once
#include <kernops/reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// R's NA: a NaN whose low word is 1954.
KERNOPS_FN double missing() {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(0x7ff00000000007a2);
#else
  const unsigned long long bits = 0x7ff00000000007a2;
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}
KERNOPS_FN long long bits_of(double x) {
#ifdef __CUDA_ARCH__
  return __double_as_longlong(x);
#else
  long long bits;
  __builtin_memcpy(&bits, &x, sizeof x);
  return bits;
#endif
}
KERNOPS_FN double from_bits(long long bits) {
#ifdef __CUDA_ARCH__
  return __longlong_as_double(bits);
#else
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
#endif
}
KERNOPS_FN bool is_missing(double x) { return x != x && int(bits_of(x)) == 1954; }

// The value joins in the lanes that `inside` names.
template <class R, class S, class M, class V, class I> KERNOPS_FN void add_where(M inside, S& s, V x, I j) {
  S with = s;
  R::add(with, x, j);
  for (int n = 0; n < R::values; ++n) s.v[n] = select(inside, with.v[n], s.v[n]);
  for (int n = 0; n < R::indices; ++n) s.j[n] = select(inside, with.j[n], s.j[n]);
}

struct Product {
  static constexpr int values = 1, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 1; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[0] *= x; }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] *= o.v[0]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

struct CountAll {
  static constexpr int values = 1, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V, I) { s.v[0] += 1; }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] += o.v[0]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

struct Mean {
  static constexpr int values = 4, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { BlockSum::start(s), s.v[3] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    BlockSum::add(s, x, j), s.v[3] += 1;
  }
  template <class S> static KERNOPS_FN void settle(S& s) { BlockSum::settle(s); }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    BlockSum::merge(s, o), s.v[3] += o.v[3];
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int n) {
    return s.v[3] == 0 ? 0.0 / 0.0 : BlockSum::finish(s, n) / s.v[3];
  }
};

// Count, mean, and sum of squared deviations: Welford (1962), joined as Chan, Golub and LeVeque (1983) do.
struct Variance {
  static constexpr int values = 3, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = s.v[2] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    const V deviation = x - s.v[1];
    s.v[0] += 1;
    s.v[1] += deviation / s.v[0];
    s.v[2] += deviation * (x - s.v[1]);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    const auto count = s.v[0] + o.v[0], share = o.v[0] / select(count > 0, count, count + 1);
    const auto deviation = o.v[1] - s.v[1];
    s.v[2] += o.v[2] + deviation * deviation * s.v[0] * share;
    s.v[1] += deviation * share;
    s.v[0] = count;
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] < 2 ? missing() : double(s.v[2] / (s.v[0] - 1));
  }
};

struct Deviation : Variance {
  template <class S> static KERNOPS_FN double finish(const S& s, int n) {
    return s.v[0] < 2 ? missing() : double(sqrt(Variance::finish(s, n)));
  }
};

// Whether a value is (wanted = 1: not) 0, and whether one is NaN: the logic of R, in which NaN is what is not
// known.
template <int wanted> struct Found {
  static constexpr int values = 2, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = select(hit(x), V(1), s.v[0]);
    s.v[1] = select(x == x, s.v[1], V(1));
  }
  template <class V> static KERNOPS_FN auto hit(V x) {
    if constexpr (wanted)
      return (x < 0) | (x > 0);
    else
      return x == 0;
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] += o.v[0], s.v[1] += o.v[1]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[0] > 0 ? wanted : s.v[1] > 0 ? missing() : 1 - wanted;
  }
};
using Any = Found<1>;
using All = Found<0>;

// The first place of the smallest (sign = 1) or largest value. NaN must not come.
template <int sign> struct ArgOf {
  static constexpr int values = 1, indices = 1, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0, s.j[0] = -1; }
  template <class V> static KERNOPS_FN auto ahead(V x, V y) {
    if constexpr (sign > 0)
      return x < y;
    else
      return x > y;
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto better = (s.j[0] < 0) | ahead(x, s.v[0]) | ((x == s.v[0]) & (j < s.j[0]));
    s.v[0] = select(better, x, s.v[0]);
    s.j[0] = select(better, j, s.j[0]);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_where<ArgOf>(o.j[0] > -1, s, o.v[0], o.j[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return double(s.j[0]) + 1; }
};

using ArgSmallest = ArgOf<1>;
using ArgLargest = ArgOf<-1>;

struct Range {
  static constexpr int values = 2, indices = 0, outputs = 2;
  template <class S> static KERNOPS_FN void start(S& s) {
    s.v[0] = infinity<double>(), s.v[1] = -infinity<double>();
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = min(s.v[0], x), s.v[1] = max(s.v[1], x);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    s.v[0] = min(s.v[0], o.v[0]), s.v[1] = max(s.v[1], o.v[1]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int n) { return s.v[n]; }
};

// The value of the lowest (sign = 1) or highest position.
template <int sign> struct End {
  static constexpr int values = 1, indices = 1, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0, s.j[0] = -1; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    const auto better = sign > 0 ? (s.j[0] < 0) | (j < s.j[0]) : (s.j[0] < j) | (s.j[0] < 0);
    s.v[0] = select(better, x, s.v[0]);
    s.j[0] = select(better, j, s.j[0]);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_where<End>(o.j[0] > -1, s, o.v[0], o.j[0]);
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.j[0] < 0 ? missing() : double(s.v[0]);
  }
};
using First = End<1>;
using Last = End<-1>;

// Operators on the bits of integers: 1.5 2^52 more puts those of an integer into the low word of a double.
struct AndBits {
  static constexpr long long identity = -1;
  template <class B> static KERNOPS_FN B join(B a, B b) { return a & b; }
};
struct OrBits {
  static constexpr long long identity = 0;
  template <class B> static KERNOPS_FN B join(B a, B b) { return a | b; }
};
struct XorBits {
  static constexpr long long identity = 0;
  template <class B> static KERNOPS_FN B join(B a, B b) { return a ^ b; }
};
template <class Operator> struct Bits {
  static constexpr int values = 2, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) {
    using Word = decltype(bits_of(s.v[0]));
    s.v[0] = from_bits(Word(Operator::identity));
    s.v[1] = 0;
  }
  template <class S, class V> static KERNOPS_FN void join(S& s, V x) {
    s.v[0] = from_bits(Operator::join(bits_of(s.v[0]), bits_of(x)));
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    join(s, x + V(6755399441055744.0));
    s.v[1] += x - x;  // remembers NaN
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { join(s, o.v[0]), s.v[1] += o.v[1]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return s.v[1] != s.v[1] ? missing() : double(int(bits_of(s.v[0])));
  }
};

using BitAnd = Bits<AndBits>;
using BitOr = Bits<OrBits>;
using BitXor = Bits<XorBits>;

// The largest value and the sum of exp(x - largest), with one exponential a value. The largest is at least
// the lowest number, so that -Inf has weight 0.
struct OnlineLogSumExp {
  static constexpr int values = 2, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = -1.7976931348623157e308, s.v[1] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { join(s, x, V(1)); }
  // A sum of `weight` exp(top) joins.
  template <class S, class V> static KERNOPS_FN void join(S& s, V top, V weight) {
    const auto higher = top > s.v[0];
    const V less = select(top == s.v[0], V(1), V(exp(-abs(top - s.v[0]))));
    s.v[1] = select(higher, s.v[1] * less + weight, s.v[1] + weight * less);
    s.v[0] = select(higher, top, s.v[0]);
  }
  template <class S> static KERNOPS_FN void settle(S&) {}
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { join(s, o.v[0], o.v[1]); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0] + log(s.v[1]); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
