// The functions of ops.def for scalars, which are used for constants on the host and by CUDA threads. simd/pack.h
// defines functions with the same names for SIMD packs, so that a row of ops.def compiles for scalars and packs.
#pragma once
#include <kernops/portable.h>

namespace kernops {
inline namespace KERNOPS_ISA {

#ifdef __CUDACC__
#define KERNOPS_MATH(name)                                \
  KERNOPS_FN float name(float x) { return ::name##f(x); } \
  KERNOPS_FN double name(double x) { return ::name(x); }
#define KERNOPS_MATH2(name)                                           \
  KERNOPS_FN float name(float x, float y) { return ::name##f(x, y); } \
  KERNOPS_FN double name(double x, double y) { return ::name(x, y); }
KERNOPS_FN float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
KERNOPS_FN double fma(double x, double y, double z) { return ::fma(x, y, z); }
KERNOPS_FN float abs(float x) { return ::fabsf(x); }
KERNOPS_FN double abs(double x) { return ::fabs(x); }
KERNOPS_FN float frexp(float x, int* n) { return ::frexpf(x, n); }
KERNOPS_FN double frexp(double x, int* n) { return ::frexp(x, n); }
KERNOPS_FN double ldexp(double x, int n) { return ::ldexp(x, n); }
#else
#define KERNOPS_MATH(name) using std::name;
#define KERNOPS_MATH2(name) using std::name;
using std::abs;
using std::fma;
using std::frexp;
using std::ldexp;
#endif

#ifdef __CUDACC__
#include <kernops/cuda/device_math.cuh>
#endif
// clang-format off
#ifndef __CUDA_ARCH__
KERNOPS_MATH(exp) KERNOPS_MATH(exp2)
#endif
KERNOPS_MATH(sqrt) KERNOPS_MATH(floor) KERNOPS_MATH(ceil) KERNOPS_MATH(trunc) KERNOPS_MATH(rint)
KERNOPS_MATH(expm1) KERNOPS_MATH(log) KERNOPS_MATH(log1p) KERNOPS_MATH(log2) KERNOPS_MATH(log10)
KERNOPS_MATH(sin) KERNOPS_MATH(cos) KERNOPS_MATH(tan) KERNOPS_MATH(asin) KERNOPS_MATH(acos) KERNOPS_MATH(atan)
KERNOPS_MATH(sinh) KERNOPS_MATH(cosh) KERNOPS_MATH(tanh) KERNOPS_MATH(erf) KERNOPS_MATH(erfc)
KERNOPS_MATH(tgamma) KERNOPS_MATH(lgamma)
KERNOPS_MATH2(pow) KERNOPS_MATH2(atan2) KERNOPS_MATH2(hypot) KERNOPS_MATH2(fmod)
#undef KERNOPS_MATH
#undef KERNOPS_MATH2
// clang-format on

// NaN takes precedence, as in R.
#if __CUDA_ARCH__ >= 800
                            KERNOPS_FN float max(float x, float y) {
  return larger_or_nan(x, y);
}
KERNOPS_FN float min(float x, float y) { return smaller_or_nan(x, y); }
#endif
template <class T> KERNOPS_FN if_scalar<T> max(T x, T y) { return x > y || x != x ? x : y; }
template <class T> KERNOPS_FN if_scalar<T> min(T x, T y) { return x < y || x != x ? x : y; }
template <class T> KERNOPS_FN if_scalar<T> select(bool condition, T x, T y) { return condition ? x : y; }

// Converts a whole number x to an integer type.
KERNOPS_FN long long whole(double x) { return (long long)x; }
KERNOPS_FN long long whole(float x) { return (long long)x; }

// Splits x into significand * 2^n, returns the significand, which is in [1/2, 1), and adds n to `power`. 0, Inf and NaN
// are returned unchanged.
template <class T> KERNOPS_FN if_scalar<T> significand(T x, T& power) {
  if (x - x != 0) return x;
  int n;
  x = frexp(x, &n);
  power += T(n);
  return x;
}

// Calls f for each lane; a scalar has one lane. On a GPU, this function is not inlined, because a copy of f for each
// pair of a thread would lengthen the code and not make it faster.
template <class F, class T> KERNOPS_CALL if_scalar<T> lanewise(F f, T x) { return f(x); }
template <class F, class T> KERNOPS_CALL if_scalar<T> lanewise(F f, T x, T y) { return f(x, y); }

}  // namespace KERNOPS_ISA
}  // namespace kernops
