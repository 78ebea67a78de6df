// Defines a type for each operation of ops.def, such as ops::Exp. The function entry<V>() of such a type computes an
// entry of the result, where V is a scalar or a SIMD pack.
#pragma once
#include <kernops/special.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class V> KERNOPS_FN V sq(V x) { return x * x; }

template <class V, class F> KERNOPS_FN V total(int n, F term) {
  V sum = term(0);
  if (KERNOPS_IS_LONG(n)) {
    KERNOPS_UNROLL_BY(4)
    for (int m = 1; m < n; ++m) sum += term(m);
  } else {
    KERNOPS_UNROLL
    for (int m = 1; m < n; ++m) sum += term(m);
  }
  return sum;
}

template <class V> KERNOPS_FN V powi(V x, int n) {
  V power = V(1), base = n < 0 ? V(1) / x : x;
  for (unsigned e = n < 0 ? 0u - unsigned(n) : unsigned(n); e; e >>= 1, base = base * base)
    if (e & 1) power = power * base;
  return power;
}

// Converts a condition to 1 or 0, and to NaN if an argument is NaN, because comparisons in R give NA in this case.
template <class V, class M> KERNOPS_FN V truth(M condition, V a) {
  return select(a == a, select(condition, V(1), V(0)), a);
}
template <class V, class M> KERNOPS_FN V truth(M condition, V a, V b) { return select(a == a, truth(condition, b), a); }

template <class V> KERNOPS_FN V if_else(V a, V b, V c) { return select(a == a, select(a >= V(0), b, c), a); }
template <class V> KERNOPS_FN V if_not_zero(V a, V b) { return select(a == V(0), V(0), select(a == a, b, a)); }
template <class V> KERNOPS_FN V sign(V a) { return select(a > V(0), V(1), select(a < V(0), V(-1), a)); }
template <class V> KERNOPS_FN V xlogx(V a) { return select(a == V(0), V(0), a * log(a)); }
template <class V> KERNOPS_FN V rsqrt_or_zero(V a) { return select(a == V(0), V(0), V(1) / sqrt(a)); }

template <class V> KERNOPS_FN V softplus(V a) { return max(a, V(0)) + log1p(exp(-abs(a))); }

// Rounds to a number of decimals like R >= 4.0.0. Two neighbouring numbers with `digits` decimals enclose a. The result
// is the number that is nearer to a or, if both numbers are equally near, the number whose last digit is even.
template <class V> KERNOPS_FN V round_digits(V a, int digits) {
  if (digits == 0) return rint(a);
  const V x = abs(a), scale = powi(V(10), digits < 0 ? -digits : digits);
  const V scaled = digits < 0 ? x / scale : x * scale, floored = floor(scaled), raised = ceil(scaled);
  const V below = digits < 0 ? floored * scale : floored / scale, above = digits < 0 ? raised * scale : raised / scale;
  const V half = floored * V(0.5);
  const auto down = (x - below < above - x) | ((x - below == above - x) & (half == floor(half)));
  const V rounded = select(a < V(0), -select(down, below, above), select(down, below, above));
  const V finest = select(scale - scale == V(0), V(4503599627370496.0), V(0));  // numbers from 2^52 on have no decimals
  if (digits < 0) return select(scale - scale == V(0), select(x - x == V(0), rounded, a), a - a);
  return select(scaled < finest, rounded, a);
}

// The inverse hyperbolic sine: computes log(x + sqrt(x^2 + 1)) for x = |a| without cancellation or overflow, and
// restores the sign of a.
template <class V> KERNOPS_FN V area_sine(V a) {
  const V x = abs(a), far = log(x) + V(0.6931471805599453), near = log1p(x + x * (x / (V(1) + hypot(x, V(1)))));
  const V value = select(x > V(1e8), far, near);
  return select(a < V(0), -value, value);
}

// Rounds to significant digits like R. The number of decimals follows from the number of digits and the exponent of 10.
struct Significant {
  template <class T> KERNOPS_FN T operator()(T a, T digits) const {
    if (a == 0 || a - a != 0) return a;
    const int places = (digits < 1 ? 1 : int(digits)) - 1 - int(floor(log10(abs(a))));
    const T scale = powi(T(10), places < 0 ? -places : places);
    if (places < 0) return rint(a / scale) * scale;
    if (scale - scale == 0) return rint(a * scale) / scale;
    const T first = powi(T(10), places / 2), second = powi(T(10), places - places / 2);
    return rint(a * first * second) / first / second;
  }
};

// Computes a modulo b as in R, with the sign of b. The result is exact except for one rounding.
struct Modulo {
  template <class T> KERNOPS_FN T operator()(T a, T b) const {
    const T rest = fmod(a, b);
    return rest == 0 || (rest < 0) == (b < 0) ? rest : rest + b;
  }
};
// Returns the number x in c <= x < c + b that equals a modulo b. A result that would be rounded to c + b becomes c.
template <class V> KERNOPS_FN V modulo(V a, V b, V c) {
  const V x = c + lanewise(Modulo{}, a - c, b);
  return select((x == c + b) & (b - b == V(0)), c, x);
}

// The largest (or smallest) entry and its position, from 0. If entries are equal, the first entry is chosen. NaN is
// more extreme than all numbers.
template <class V> struct Best { V value, place; };
template <class V, class In> KERNOPS_FN Best<V> largest(int n, const In& a) {
  Best<V> best{a[0], V(0)};
  for (int m = 1; m < n; ++m) {
    const V x = a[m];
    const auto better = (best.value == best.value) & ((x > best.value) | (x != x));
    best = {select(better, x, best.value), select(better, V(m), best.place)};
  }
  return best;
}
template <class V, class In> KERNOPS_FN Best<V> smallest(int n, const In& a) {
  struct Negated {
    const In& a;
    KERNOPS_FN V operator[](int m) const { return -a[m]; }
  };
  const Best<V> best = largest<V>(n, Negated{a});
  return {-best.value, best.place};
}

#define TOTAL(n, term) total<V>(n, [&](int m) { return term; })

namespace ops {
#define OP(name, arguments, size, entry_, ...)                                                                   \
  struct name {                                                                                                  \
    template <class V, class In>                                                                                 \
    static KERNOPS_FN V entry(int k, const In& a, const In& b, const In& c, int A, int B, int C, int p, int q) { \
      return entry_;                                                                                             \
    }                                                                                                            \
  };
#include <kernops/ops.def>
}  // namespace ops
#undef TOTAL

}  // namespace KERNOPS_ISA
}  // namespace kernops
