// Special functions for one number at a time. SIMD code would not be much faster, because the number of iterations of
// the loops depends on the arguments.
#pragma once
#include <kernops/scalar.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The spherical Bessel function j_n(x), where j_0(x) = sin(x)/x. A stable method is chosen by the size of x: for small
// x, the power series (DLMF 10.53.1), whose terms do not cancel; for x above n + 2, the upward recurrence (10.51.1);
// and between these two ranges, the downward recurrence.
template <class T> KERNOPS_FN T spherical_bessel_series(T x, int n) {
  T term = 1;
  for (int m = 1; m <= n; ++m) term *= x / T(2 * m + 1);
  T sum = term;
  for (int k = 1; k < 40; ++k) sum += term *= -x * x / T(2 * k * (2 * (n + k) + 1));
  return sum;
}
template <class T> KERNOPS_FN T spherical_bessel_upward(T x, int n) {
  T before = sin(x) / x, now = (before - cos(x)) / x;
  for (int m = 1; m < n; ++m) {
    const T next = T(2 * m + 1) / x * now - before;
    before = now;
    now = next;
  }
  return now;
}
// The downward recurrence starts from an order that is so high that its function value is negligible. The values are
// then scaled such that the larger of j_0 and j_1 is correct.
template <class T> KERNOPS_FN T spherical_bessel_downward(T x, int n) {
  T above = 0, now = 1, wanted = 0;
  for (int m = n + n / 10 + 40; m > 0; --m) {
    const T below = T(2 * m + 1) / x * now - above;
    above = now;
    now = below;
    if (m == n + 1) wanted = now;
    if (abs(now) > T(1e30)) above *= T(1e-30), now *= T(1e-30), wanted *= T(1e-30);
  }
  const T j0 = sin(x) / x, j1 = (j0 - cos(x)) / x;
  return abs(j0) > abs(j1) ? wanted / now * j0 : wanted / above * j1;
}
template <class T> KERNOPS_FN T spherical_bessel_scalar(T x, int n) {
  if (n == 0) return x == 0 ? T(1) : sin(x) / x;
  if (!(x * x > T(8 * n + 12))) return spherical_bessel_series(x, n);
  return abs(x) < T(n + 2) ? spherical_bessel_downward(x, n) : spherical_bessel_upward(x, n);
}

// The Bessel function J_n(x). Like the functions below, J_n(x) is computed in double precision for every type T.
struct BesselJ {
  int n;
  template <class T> KERNOPS_FN T operator()(T x) const {
#ifdef _WIN32
    const double value = ::_jn(n < 0 ? -n : n, double(x));
#else
    const double value = ::jn(n < 0 ? -n : n, double(x));
#endif
    return T(n < 0 && n % 2 ? -value : value);
  }
};
template <class V> KERNOPS_FN V bessel_j(V x, int n) { return lanewise(BesselJ{n}, x); }

// The n-th derivative of the digamma function.
struct Polygamma {
  static constexpr int most = 16;
  int n;

  template <class T> KERNOPS_FN T operator()(T x) const { return T(value(double(x))); }

 private:
  KERNOPS_FN double value(double x) const {
    if (x > 0) return positive(x);
    if (!(x > floor(x))) return nan_of(x);                               // the poles
    return (n % 2 ? -positive(1 - x) : positive(1 - x)) - cotangent(x);  // DLMF 5.15.6
  }

  // Computes the function for x > 0. The recurrence (DLMF 5.15.5) increases x up to the range in which the asymptotic
  // series (5.15.8) is accurate to double precision.
  KERNOPS_FN double positive(double x) const {
    double factorial = 1, sum = 0;
    for (int m = 2; m <= n; ++m) factorial *= m;
    for (; x < 16 + n; x += 1) sum += factorial / power(x, n + 1);
    sum += series(x, factorial);
    return n % 2 ? sum : -sum;
  }

  KERNOPS_FN double series(double x, double factorial) const {
    const double bernoulli[] = {1. / 6,       -1. / 30, 1. / 42,      -1. / 30,     5. / 66,
                                -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798, -174611. / 330};
    double sum = (n == 0 ? -log(x) : factorial / n / power(x, n)) + factorial / (2 * power(x, n + 1));
    double term = factorial * (n + 1) / (2 * power(x, n + 2));
    for (int k = 1; k <= 10; ++k) {
      sum += bernoulli[k - 1] * term;
      term *= double(2 * k + n) * (2 * k + n + 1) / ((2 * k + 1) * (2 * k + 2) * x * x);
    }
    return sum;
  }

  // The n-th derivative of pi cot(pi x), which is a polynomial in cot(pi x).
  KERNOPS_FN double cotangent(double x) const {
    const double pi = 3.14159265358979323846, r = pi * (x - rint(x)), c = cos(r) / sin(r);
    double p[most + 2] = {0, pi};
    for (int m = 1; m <= n; ++m) {
      double d[most + 2] = {};
      for (int k = 1; k <= m; ++k) {
        d[k - 1] -= pi * k * p[k];
        d[k + 1] -= pi * k * p[k];
      }
      for (int k = 0; k <= m + 1; ++k) p[k] = d[k];
    }
    double sum = 0;
    for (int k = n + 1; k >= 0; --k) sum = sum * c + p[k];
    return sum;
  }

  KERNOPS_FN static double power(double x, int n) {
    double product = 1;
    for (; n > 0; --n) product *= x;
    return product;
  }
  KERNOPS_FN static double nan_of(double x) { return x - x == 0 ? (x - x) / (x - x) : x - x; }
};

// The n-th derivative of the digamma function at a + b minus the same derivative at a; for n = -1, the difference of
// the logarithms of the gamma function. The differences of corresponding terms of the asymptotic series are computed as
// powers of a times expm1(-m log(1 + b / a)), so that no digits cancel for a >> b.
struct PolygammaDifference {
  int n;

  template <class T> KERNOPS_FN T operator()(T a, T b) const { return T(value(double(a), double(b))); }

 private:
  KERNOPS_FN double value(double a, double b) const {
    if (!(a > 0 && a + b > 0)) return single(a + b) - single(a);
    double factorial = 1, sum = 0;
    for (int m = 2; m <= n; ++m) factorial *= m;
    const double sign = n % 2 ? 1 : -1;
    for (; a < 16 + n || a + b < 16 + n; a += 1) sum += sign * pole(a, log1p(b / a), factorial);
    const double ratio = log1p(b / a);
    if (n < 0) sum += a * ratio + b * (log(a + b) - 1);
    sum += sign * (n == 0 ? -ratio : n > 0 ? factorial / n * power(a, -n, ratio) : 0);
    return sum + sign * (pole(a, ratio, factorial) / 2 + tail(a, ratio, factorial));
  }

  // The value of n! / x^(n + 1) at x = a + b minus the value at x = a. For n = -1, n! / x^(n + 1) is replaced by its
  // limit -log(x).
  KERNOPS_FN double pole(double a, double ratio, double factorial) const {
    return n < 0 ? -ratio : factorial * power(a, -n - 1, ratio);
  }
  KERNOPS_FN double tail(double a, double ratio, double factorial) const {
    const double bernoulli[] = {1. / 6,       -1. / 30, 1. / 42,      -1. / 30,     5. / 66,
                                -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798, -174611. / 330};
    double sum = 0, factor = n < 0 ? 0.5 : factorial * (n + 1) / 2;
    for (int k = 1; k <= 10; ++k) {
      sum += bernoulli[k - 1] * factor * power(a, -2 * k - n, ratio);
      factor *= double(2 * k + n) * (2 * k + n + 1) / ((2 * k + 1) * (2 * k + 2));
    }
    return sum;
  }
  // (a + b)^m - a^m for m <= 0
  KERNOPS_FN static double power(double a, int m, double ratio) {
    double product = 1;
    for (int k = m; k < 0; ++k) product /= a;
    return product * expm1(m * ratio);
  }
  KERNOPS_FN double single(double x) const { return n < 0 ? lgamma(x) : Polygamma{n}(x); }
};

// The hazard of the standard normal distribution, which is the density divided by the upper tail probability, or the
// hazard minus x (`excess`). For x > 4, the hazard is the continued fraction x + 1 / (x + 2 / (x + 3 / ...)) (DLMF
// 7.9.3), which has no cancellation.
struct NormalHazard {
  bool excess;

  template <class T> KERNOPS_FN T operator()(T x) const { return T(value(double(x))); }

  KERNOPS_FN double value(double x) const {
    if (x < 4) {
      const double hazard = 0.7978845608028654 * exp(-x * x / 2) / erfc(x * 0.7071067811865476);
      return excess ? hazard - x : hazard;
    }
    double below = x;
    for (int k = 40; k > 1; --k) below = x + k / below;
    return excess ? 1 / below : x + 1 / below;
  }
};

struct LogNormalCdf {
  template <class T> KERNOPS_FN T operator()(T x) const { return T(value(double(x))); }

  KERNOPS_FN double value(double x) const {
    if (x > 0) return log1p(-erfc(x * 0.7071067811865476) / 2);
    if (x > -4) return log(erfc(-x * 0.7071067811865476) / 2);
    return -x * x / 2 - 0.9189385332046728 - log(NormalHazard{false}.value(-x));
  }
};

// log(1 + exp(a)) - log(1 + exp(b))
struct SoftplusDifference {
  KERNOPS_FN double operator()(double a, double b) const {
    if (abs(a - b) < 1) return log1p(expm1(a - b) / (1 + exp(-b)));
    return softplus(a) - softplus(b);
  }
  KERNOPS_FN static double softplus(double x) { return max(x, 0.) + log1p(exp(-abs(x))); }
};

// The modified Bessel function K_v(x), or x^v K_v(x), or a derivative of these functions with respect to v. K_v(x) is
// half of the integral over t of exp(v t - x cosh(t)) (DLMF 10.32.9). In derivatives, the integrand has a power of t or
// of log(x) + t as a factor. The integral is computed by the trapezoidal rule, whose error decreases exponentially with
// 1 / step. All terms of the sum for K_v(x) are positive or 0, so that small and large values have the same relative
// accuracy. In sums for derivatives, terms differ in sign, but few digits cancel. Orders 1/2, 3/2, ... have closed
// forms.
struct BesselK {
  static constexpr int most = 20000;  // maximum number of terms on each side of the largest term
  int derivative;
  bool scaled;  // multiplied by x^v

  template <class T> KERNOPS_FN T operator()(T v, T x) const { return T(value(double(v), double(x))); }

  // Returns whether the closed form can be used. The result is false if a power of x might overflow although K_v(x)
  // does not overflow.
  KERNOPS_FN bool is_closed(double v, double x) const {
    const double below = abs(v) - 0.5;
    return derivative == 0 && below >= 0 && below <= 12 && below == floor(below) && x > 1e-20 && x < 600;
  }

  // The closed form K_v(x) = sqrt(pi / 2) exp(-x) x^-v p(x), where v = n + 1/2, and p is the reverse Bessel polynomial
  // of degree n (DLMF 10.49.12). p is computed by its recurrence (10.51.4), which has no cancellation.
  KERNOPS_FN double closed(double v, double x) const {
    const int n = int(abs(v) - 0.5);
    double before = 1, now = n == 0 ? 1 : x + 1, power = n == 0 ? 1 : x;
    for (int m = 2; m <= n; ++m) {
      const double next = double(2 * m - 1) * now + x * x * before;
      before = now;
      now = next;
      power *= x;
    }
    const double value = 1.2533141373155003 * exp(-x) * now;
    if (!scaled) return value / (power * sqrt(x));
    return v > 0 ? value : value / (x * power * power);
  }

 private:
  struct Sum {
    double value, size;  // size: sum of the absolute values of the terms
  };

  KERNOPS_FN double value(double v, double x) const {
    if (is_closed(v, x)) return closed(v, x);
    if (v - v != 0) return v - v;
    if (!(x > 0)) return x == 0 ? at_zero(v) : (x - x) / (x - x);
    if (x - x != 0) return 0;
    const double size = abs(v), step = 0.7 / sqrt(hypot(x, v) + 9);
    const double peak = floor((log(size + hypot(v, x)) - log(x)) / step);
    const double highest = exponent(peak * step, size, x), scale = highest + (scaled ? v * log(x) : 0);
    if (scale - x < -900) return 0;
    const double sum = step * total(peak, step, v, x, highest);
    return scale < 600 && x < 600 ? sum * exp(-x) * exp(scale) : sum * exp(scale - x);
  }

  // Adds the terms in two directions from the largest term, so that the number of terms is bounded for every order.
  KERNOPS_FN double total(double peak, double step, double v, double x, double highest) const {
    Sum sum{0, 0};
    for (int n = 0; n < most; ++n)
      if (!add((peak + n) * step, v, x, highest, &sum)) break;
    for (int n = 1; n < most && n <= peak; ++n)
      if (!add((peak - n) * step, v, x, highest, &sum)) break;
    return sum.value;
  }

  // Adds the terms of t and -t, or half of the term of t = 0. Returns false if these terms and all following terms are
  // negligible.
  KERNOPS_FN bool add(double t, double v, double x, double highest, Sum* sum) const {
    const double half = t == 0 ? 0.25 : 0.5, base = scaled && derivative ? log(x) : 0, along = v < 0 ? -t : t;
    const double there = half * exp(exponent(t, abs(v), x) - highest), to = base + along;
    const double back = half * exp(exponent(t, -abs(v), x) - highest), from = base - along;
    sum->value += there * power(to, derivative) + back * power(from, derivative);
    sum->size += there * power(abs(to), derivative) + back * power(abs(from), derivative);
    const double bound = there * power(max(1., abs(to)), derivative) + back * power(max(1., abs(from)), derivative);
    return bound >= 1e-17 * sum->size;
  }

  KERNOPS_FN static double power(double x, int n) {
    double product = 1;
    for (; n > 0; --n) product *= x;
    return product;
  }

  // Returns v t - x (cosh(t) - 1).
  KERNOPS_FN static double exponent(double t, double v, double x) {
    const double s = sinh(t / 2);
    return v * t - 2 * (x * s) * s;
  }

  // Returns the value of x^v K_v(x) at x = 0. If this value is infinite, the result is 0 by convention, as for Rsqrt.
  // If v > 0, the value is 2^(v - 1) Gamma(v), and the derivatives of its logarithm are log(2) + psi(v), psi'(v), ...
  KERNOPS_FN double at_zero(double v) const {
    if (!scaled) return 1 / 0.0;
    if (!(v > 0)) return 0;
    double of[Polygamma::most + 1] = {tgamma(v) * exp((v - 1) * 0.69314718055994530942)};
    for (int n = 0; n < derivative; ++n) {
      double choose = 1, sum = 0.69314718055994530942 * of[n];
      for (int k = 0; k <= n; ++k) {
        sum += choose * Polygamma{k}(v)*of[n - k];
        choose *= double(n - k) / (k + 1);
      }
      of[n + 1] = sum;
    }
    return of[derivative];
  }
};

// The function 2^(1 - a) / Gamma(a) x^v K_v(x) with v = a - shift, or a derivative of this function with respect to a.
// If shift is 0, the function is a Matern correlation. The factors of the function overflow or underflow long before
// their product does. Therefore the factors are included in the logarithm of the largest integrand, which is at sinh(t)
// = v / x. For a derivative with respect to a, the integrands are multiplied by a complete Bell polynomial of log(x /
// 2) + t - psi(a), -psi'(a), -psi''(a), ...
struct MaternK {
  int derivative, shift;

  template <class T> KERNOPS_FN T operator()(T a, T x) const { return T(value(double(a), double(x))); }

 private:
  static constexpr double log_2 = 0.69314718055994530942;
  struct Slopes {
    // derivatives of the logarithm of an integrand with respect to a, beginning with the first derivative
    double of[Polygamma::most + 2];
  };

  KERNOPS_FN double value(double a, double x) const {
    const double v = a - shift;
    if (a == 0 && derivative == 0) return x - x;
    if (!(a > 0) || a - a != 0 || !(x >= 0)) return 0 / (x - x);
    if (x == 0) return at_zero(a, v);
    if (x - x != 0) return 0;
    const BesselK power{derivative, true};
    if (power.is_closed(v, x)) return power.closed(v, x) * of_half(int(a));
    const double h = hypot(x, v), step = 0.7 / sqrt(h + 9), highest = log_highest(a, x, v, h);
    return highest < -900 ? 0 : 0.5 * step * exp(highest) * total(a, x, v, h, step);
  }

  // Returns 2^(1 - a) / Gamma(a) for a = m + 1/2.
  KERNOPS_FN static double of_half(int m) {
    double factor = 0.79788456080286535588;
    for (int k = 1; k < m; ++k) factor /= 2 * k + 1;
    return factor;
  }

  // Returns the maximum over t of (1 - a) log(2) - log(Gamma(a)) + v log(x) + v t - x cosh(t). If v is large,
  // Stirling's series replaces log(Gamma(a)), because the terms would cancel.
  KERNOPS_FN double log_highest(double a, double x, double v, double h) const {
    if (v < 16) return (1 - a) * log_2 - lgamma(a) + v * log_scale(x, v, h) - h;
    const double beyond = x / (h + v) * x, w = 1 / (v * v);
    double sum = v * log1p(beyond / (2 * v)) - beyond + 0.5 * log(v * 0.15915494309189533577) + (1 - shift) * log_2;
    for (int k = 0; k < shift; ++k) sum -= log(v + k);
    return sum - (1. / 12 - w * (1. / 360 - w * (1. / 1260 - w / 1680))) / v;
  }

  // Returns log(x) + t for the t with sinh(t) = v / x.
  KERNOPS_FN static double log_scale(double x, double v, double h) {
    return v >= 0 ? log(v + h) : 2 * log(x) - log(h - v);
  }

  // Sums values of the integrand in both directions from its maximum. All values are divided by the maximum.
  KERNOPS_FN double total(double a, double x, double v, double h, double step) const {
    Slopes slopes{}, sizes{};
    for (int k = 1; k < derivative; ++k) sizes.of[k] = abs(slopes.of[k] = -Polygamma{k}(a));
    const double center = derivative == 0 ? 0 : log_scale(x, v, h) - log_2 - Polygamma{0}(a);
    const double w = abs(v), beyond = x / (h + w) * x;
    double sum = 0, size = 0;
    for (int side = 1; side >= -1; side -= 2)
      for (int n = side < 0 ? 1 : 0; n < BesselK::most; ++n) {
        const double t = side * n * step, s = sinh(t / 2), along = v < 0 ? -t : t;
        const double integrand = exp(-2 * (beyond * s) * s - w * (expm1(along) - along));
        slopes.of[0] = center + t;
        sizes.of[0] = max(1., abs(slopes.of[0]));
        const double bound = integrand * bell(sizes);
        sum += integrand * bell(slopes);
        size += bound;
        if (!(bound >= 1e-17 * size)) break;
      }
    return sum;
  }

  // Returns the n-th derivative of exp(f) divided by exp(f), which is a complete Bell polynomial of the derivatives of
  // f.
  KERNOPS_FN double bell(const Slopes& slopes) const {
    if (derivative < 2) return derivative == 0 ? 1 : slopes.of[0];
    double of[Polygamma::most + 2] = {1};
    for (int n = 0; n < derivative; ++n) {
      double choose = 1;
      for (int k = 0; k <= n; ++k) {
        of[n + 1] += choose * of[n - k] * slopes.of[k];
        choose *= double(n - k) / (k + 1);
      }
    }
    return of[derivative];
  }

  // Returns the value at x = 0, which is 2^-shift / ((a - 1) ... (a - shift)) for v > 0. If the value is infinite, the
  // result is 0, as in BesselK.
  KERNOPS_FN double at_zero(double a, double v) const {
    if (!(v > 0)) return 0;
    Slopes slopes{};
    double value = 1;
    for (int m = 1; m <= shift; ++m) {
      double power = -1 / (a - m);
      value *= -power / 2;
      for (int k = 0; k < derivative; ++k, power *= -k / (a - m)) slopes.of[k] += power;
    }
    return value * bell(slopes);
  }
};

}  // namespace KERNOPS_ISA

// The CPU compiles these functions once, in src/cpu/simd/special.cpp: if each instruction set had a copy, the compiler
// would fuse different operations. Near a zero, or in the exponent of a large value, the results would then differ by
// many units of the last place.
namespace special {
#ifdef __CUDACC__
#define KERNOPS_SPECIAL(function, value) \
  KERNOPS_FN double function { return value; }
#elif !defined(KERNOPS_SPECIAL)
#define KERNOPS_SPECIAL(function, value) double function;
#endif
KERNOPS_SPECIAL(spherical_bessel(double x, int n), spherical_bessel_scalar(x, n))
KERNOPS_SPECIAL(polygamma(double x, int n), Polygamma{n}(x))
KERNOPS_SPECIAL(bessel_k(double v, double x, int derivative, bool scaled), (BesselK{derivative, scaled}(v, x)))
KERNOPS_SPECIAL(matern_k(double a, double x, int derivative, int shift), (MaternK{derivative, shift}(a, x)))
KERNOPS_SPECIAL(polygamma_difference(double a, double b, int n), (PolygammaDifference{n}(a, b)))
KERNOPS_SPECIAL(softplus_difference(double a, double b), (SoftplusDifference{}(a, b)))
KERNOPS_SPECIAL(normal_hazard(double x, bool excess), NormalHazard{excess}(x))
KERNOPS_SPECIAL(log_normal_cdf(double x), LogNormalCdf{}(x))
#undef KERNOPS_SPECIAL
}  // namespace special

inline namespace KERNOPS_ISA {

template <class V> KERNOPS_FN V spherical_bessel(V a, int n) {
  if (n == 0) return select(a == V(0), V(1), sin(a) / a);
  return lanewise([n](auto x) { return decltype(x)(special::spherical_bessel(double(x), n)); }, a);
}
template <class V> KERNOPS_FN V polygamma(V a, int n) {
  return lanewise([n](auto x) { return decltype(x)(special::polygamma(double(x), n)); }, a);
}
// The last argument is true if all pairs have the same order. For this case, the CPU has tables (cpu/bessel_k.h).
template <class V> KERNOPS_FN V bessel_k(V a, V b, int derivative, bool scaled, bool) {
  return lanewise(
      [=](auto v, auto x) { return decltype(x)(special::bessel_k(double(v), double(x), derivative, scaled)); }, a, b);
}
template <class V> KERNOPS_FN V matern_k(V a, V b, int derivative, int shift, bool) {
  return lanewise(
      [=](auto v, auto x) { return decltype(x)(special::matern_k(double(v), double(x), derivative, shift)); }, a, b);
}
template <class V> KERNOPS_FN V polygamma_difference(V a, V b, int n) {
  return lanewise([n](auto x, auto y) { return decltype(x)(special::polygamma_difference(double(x), double(y), n)); },
                  a, b);
}
template <class V> KERNOPS_FN V softplus_difference(V a, V b) {
  return lanewise([](auto x, auto y) { return decltype(x)(special::softplus_difference(double(x), double(y))); }, a, b);
}
template <class V> KERNOPS_FN V normal_hazard(V a) {
  return lanewise([](auto x) { return decltype(x)(special::normal_hazard(double(x), false)); }, a);
}
template <class V> KERNOPS_FN V normal_excess(V a) {
  return lanewise([](auto x) { return decltype(x)(special::normal_hazard(double(x), true)); }, a);
}
template <class V> KERNOPS_FN V log_normal_cdf(V a) {
  return lanewise([](auto x) { return decltype(x)(special::log_normal_cdf(double(x))); }, a);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
