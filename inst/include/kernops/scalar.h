// The scalar vocabulary of ops.def for one number at a time: host constants and CUDA threads. pack.h gives
// the same names to SIMD packs, so that a row of ops.def reads the same everywhere.
#pragma once
#include <kernops/portable.h>

namespace kernops {
inline namespace KERNOPS_ISA {

using std::abs;
using std::acos;
using std::asin;
using std::atan;
using std::atan2;
using std::ceil;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::floor;
using std::hypot;
using std::isnan;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::pow;
using std::rint;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
using std::trunc;

// NaN wins, as in R.
template <class T> KERNOPS_FN enable_scalar<T> max(T x, T y) { return x > y || x != x ? x : y; }
template <class T> KERNOPS_FN enable_scalar<T> min(T x, T y) { return x < y || x != x ? x : y; }
template <class T>
KERNOPS_FN typename std::enable_if<std::is_arithmetic<T>::value, T>::type select(bool condition, T x, T y) {
  return condition ? x : y;
}

// Calls f on each lane; a scalar is its own only lane.
template <class F, class T> KERNOPS_FN enable_scalar<T> lanewise(F f, T x) { return f(x); }

}  // namespace KERNOPS_ISA
}  // namespace kernops
