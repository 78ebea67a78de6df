// Macros for the differences between compilers: g++ and clang (which compile each file for one instruction set), nvcc,
// and NVRTC (which has no standard headers).
#pragma once

#ifndef __CUDACC_RTC__
#include <cmath>
#endif

#ifdef __CUDACC__
#define KERNOPS_FN __host__ __device__ __forceinline__
#define KERNOPS_CALL __host__ __device__ __noinline__
#define KERNOPS_UNROLL _Pragma("unroll")
#define KERNOPS_TEXT_OF(x) #x
#define KERNOPS_UNROLL_BY(n) _Pragma(KERNOPS_TEXT_OF(unroll n))
// True if a loop has so many iterations n that its values do not fit into registers. Such loops are not unrolled,
// because unrolled code would not be faster and would take long to compile.
#define KERNOPS_IS_LONG(n) ((n) > 256)
#define KERNOPS_UNROLL_FEW(n) KERNOPS_UNROLL_BY(KERNOPS_IS_LONG(n) ? 4 : (n))
#elif defined(KERNOPS_INLINE)
#define KERNOPS_FN KERNOPS_INLINE  // simd/isa.h
#define KERNOPS_UNROLL
#define KERNOPS_UNROLL_BY(n)
#define KERNOPS_IS_LONG(n) false
#else
#define KERNOPS_FN inline
#define KERNOPS_UNROLL
#define KERNOPS_UNROLL_BY(n)
#define KERNOPS_IS_LONG(n) false
#endif
#ifndef KERNOPS_CALL
#define KERNOPS_CALL KERNOPS_FN
#endif

// Heads of loops over n from 0. A loop with KERNOPS_EACH is unrolled. A loop with KERNOPS_EVERY is unrolled, and
// increases n by a step. A loop with KERNOPS_EACH_FEW is unrolled only if it has few iterations.
#define KERNOPS_EACH(n, ...) KERNOPS_UNROLL for (int n = 0; n < (__VA_ARGS__); ++n)
#define KERNOPS_EVERY(n, step, ...) KERNOPS_UNROLL for (int n = 0; n < (__VA_ARGS__); n += step)
#define KERNOPS_EACH_FEW(n, ...) KERNOPS_UNROLL_FEW((__VA_ARGS__)) for (int n = 0; n < (__VA_ARGS__); ++n)

// The engine is in an inline namespace that has the name of the instruction set, so that code for one instruction set
// never links to code for another instruction set.
#ifndef KERNOPS_ISA
#define KERNOPS_ISA one_lane
#endif

namespace kernops {
template <class T> struct Scalar {};
template <> struct Scalar<float> { using type = float; };
template <> struct Scalar<double> { using type = double; };
template <> struct Scalar<int> { using type = int; };
template <> struct Scalar<long> { using type = long; };
template <> struct Scalar<long long> { using type = long long; };
// The type T if T is a number, and no type if T is a pack.
template <class T> using if_scalar = typename Scalar<T>::type;
}  // namespace kernops
