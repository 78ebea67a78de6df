#pragma once

#include <kernops/pack.h>

#ifndef KERNOPS_ISA_MISSING

namespace kernops {
inline namespace KERNOPS_ISA {

#define KERNOPS_LANEWISE(name) \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x) { return lanewise([](T t) { return std::name(t); }, x); }
KERNOPS_LANEWISE(exp)
KERNOPS_LANEWISE(log)
KERNOPS_LANEWISE(sin)
KERNOPS_LANEWISE(cos)
KERNOPS_LANEWISE(tanh)
KERNOPS_LANEWISE(exp2)
KERNOPS_LANEWISE(expm1)
KERNOPS_LANEWISE(log1p)
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

#define KERNOPS_LANEWISE(name)                                                   \
  template <class T> KERNOPS_INLINE Pack<T> name(Pack<T> x, same_pack<Pack<T>> y) { \
    return lanewise([](T s, T t) { return std::name(s, t); }, x, y);             \
  }
template <class P> using same_pack = std::enable_if_t<true, P>;  // not deduced: a number converts
KERNOPS_LANEWISE(pow)
KERNOPS_LANEWISE(atan2)
KERNOPS_LANEWISE(hypot)
KERNOPS_LANEWISE(fmod)
#undef KERNOPS_LANEWISE

// lgamma writes a global sign; the reentrant form does not, where the system declares it.
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
