// Selects the instruction set of one translation unit, without -m flags of the compiler.
//
//   #define KERNOPS_SIMD 3          // 0: 16-byte vectors of any machine, 2: AVX2 + FMA, 3: AVX-512 F/DQ/BW/VL
//   #include <kernops/simd/isa.h>   // before any other header of the package
//   ...                             // code in  namespace kernops { inline namespace KERNOPS_ISA { ... } }
//   KERNOPS_ISA_END                 // the last line of the file
//
// Level 0 uses NEON on aarch64, because every aarch64 processor has NEON.
//
// Standard headers are included first, and are compiled for the baseline instruction set, because the linker may share
// their inline functions with the rest of the library. If the compiler does not support a level, this file only defines
// KERNOPS_ISA_MISSING.
#pragma once

// Turns off the tracking of the location of each variable, which takes a fifth of the compile time. Debuggers still
// show line numbers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-var-tracking")
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef KERNOPS_SIMD
#define KERNOPS_SIMD 0
#endif

#if KERNOPS_SIMD > 0 && !defined(__x86_64__)
#define KERNOPS_ISA_MISSING 1
#define KERNOPS_ISA_END
#else

#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// On 64-bit Windows, gcc aligns the stack only to 16 bytes, but uses instructions for aligned vectors (GCC bug 54412).
// Therefore packs are unaligned types on this system, for which gcc uses unaligned instructions.
#if defined(_WIN32) && !defined(__clang__)
#define KERNOPS_PACK_ALIGN 16
#else
#define KERNOPS_PACK_ALIGN KERNOPS_PACK_BYTES
#endif

// Defined if fused multiply-add is a single instruction.
#if KERNOPS_SIMD > 0 || defined(__aarch64__)
#define KERNOPS_FMA 1
#endif

#if KERNOPS_SIMD == 0
#define KERNOPS_ISA baseline
#define KERNOPS_PACK_BYTES 16
#elif KERNOPS_SIMD == 2
#define KERNOPS_ISA avx2
#define KERNOPS_PACK_BYTES 32
#elif KERNOPS_SIMD == 3
#define KERNOPS_ISA avx512
#define KERNOPS_PACK_BYTES 64
#else
#error "KERNOPS_SIMD is 0, 2 or 3"
#endif

// With g++, the target must stay active up to the end of the file, where templates are instantiated. clang requires
// that the target is removed (pop).
#define KERNOPS_ISA_END
#if KERNOPS_SIMD == 2 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif KERNOPS_SIMD == 3 && defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), \
                             apply_to = function)
#elif KERNOPS_SIMD == 2
#pragma GCC target("avx2,fma")
#elif KERNOPS_SIMD == 3
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif
#if KERNOPS_SIMD > 0 && defined(__clang__)
#undef KERNOPS_ISA_END
#define KERNOPS_ISA_END _Pragma("clang attribute pop")
#endif

// The attribute always_inline is also needed for correctness. Without an attribute, g++ 12 uses the baseline
// instruction set for friend functions that are defined in a class template.
#define KERNOPS_INLINE inline __attribute__((always_inline))

#endif
