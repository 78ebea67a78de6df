// <cmath> on packs of float or double: exp, log, sin, cos, tanh, pow and related functions are vector code. The error
// of these functions is at most 2 ulp over the whole range, and their special values are those of C99 (Annex F). Each
// function reduces its argument to a small interval, and evaluates a minimax polynomial on this interval, without
// tables (Muller et al., Handbook of Floating-Point Arithmetic, 2018, chapter 10). <cmath> computes rare lanes, such as
// zeros in log or negative bases in pow, and all other functions.
#pragma once

#include <kernops/simd/exp.h>
#include <kernops/simd/log.h>
#include <kernops/simd/trig.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

#define KERNOPS_LANEWISE(name)                                \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x) { \
    return lanewise([](T t) { return std::name(t); }, x);     \
  }
KERNOPS_LANEWISE(log2)
KERNOPS_LANEWISE(log10)
KERNOPS_LANEWISE(tan)
KERNOPS_LANEWISE(asin)
KERNOPS_LANEWISE(acos)
KERNOPS_LANEWISE(atan)
KERNOPS_LANEWISE(sinh)
KERNOPS_LANEWISE(cosh)
KERNOPS_LANEWISE(asinh)
KERNOPS_LANEWISE(acosh)
KERNOPS_LANEWISE(atanh)
KERNOPS_LANEWISE(erf)
KERNOPS_LANEWISE(erfc)
KERNOPS_LANEWISE(tgamma)
KERNOPS_LANEWISE(cbrt)
#undef KERNOPS_LANEWISE

#define KERNOPS_LANEWISE(name)                                                \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x, same_pack<T> y) { \
    return lanewise([](T s, T t) { return std::name(s, t); }, x, y);          \
  }
KERNOPS_LANEWISE(atan2)
KERNOPS_LANEWISE(hypot)
KERNOPS_LANEWISE(fmod)
#undef KERNOPS_LANEWISE

// lgamma() writes a global variable, the sign. Therefore lgamma_r() is used on systems that declare this function.
template <class T> auto log_gamma(T x, int) -> decltype(lgamma_r(x, static_cast<int*>(nullptr))) {
  int sign;
  return lgamma_r(x, &sign);
}
template <class T> T log_gamma(T x, long) { return std::lgamma(x); }
template <class T> KERNOPS_INLINE Pack<T> lgamma(Pack<T> x) {
  return lanewise([](T t) { return T(log_gamma(double(t), 0)); }, x);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops

#endif
