// What differs between the compilers that read the engine: g++ and clang (one instruction set a file), nvcc
// and NVRTC.
#pragma once

#ifdef __CUDACC_RTC__
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
namespace std = cuda::std;
#else
#include <cmath>
#include <cstdint>
#include <type_traits>
#endif

#ifdef __CUDACC__
#define KERNOPS_FN __host__ __device__ __forceinline__
#elif defined(KERNOPS_INLINE)
#define KERNOPS_FN KERNOPS_INLINE  // isa.h
#else
#define KERNOPS_FN inline
#endif

// The engine lives in an inline namespace named after the instruction set, so that code for one never links
// to another.
#ifndef KERNOPS_ISA
#define KERNOPS_ISA scalar
#endif

namespace kernops {
template <class T> using enable_scalar = typename std::enable_if<std::is_floating_point<T>::value, T>::type;
}
