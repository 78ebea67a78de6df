// In which kinds of numbers tensor cores multiply, and how accurately.
//
// A chunk of a vector is 64 bytes, of which thread 4 i + j of a warp has unit j, 16 bytes of the vectors of
// some rows and lanes i. A kind says what a thread makes of a unit (Part), and multiplies those of 16 rows x
// 8 lanes:
//   add(c, x, x8, y)       c += the inner products: of rows i (x) and i + 8 (x8) with lanes 2 j and 2 j + 1
//   add_rest(c, x, x8, y)  the same for the small parts that rounding took from them; comes first
// So many chunks are added up before their sum joins others (`together`: tensor cores cut off and do not round), make a
// stage (most_chunks), or stay in a thread's registers, of its rows (most_resident).
#pragma once
#include <kernops/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// GPUs other than those of data centres have few units for doubles, if any.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr bool multiplies_doubles = true;
#else
constexpr bool multiplies_doubles = false;
#endif
#if __CUDA_ARCH__ >= 800
constexpr bool multiplies_floats = true;
#else
constexpr bool multiplies_floats = false;
#endif

// Exact fused multiplications and additions.
struct Doubles {
  using T = double;
  template <int N> using Part = Few<N, double>;
  static constexpr int together = 4, most_chunks = 4, most_resident = 4;

  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, double>& some) { return some; }
  template <class P>
  static __device__ __forceinline__ void add_rest(double (&)[4], const P&, const P&, const P&) {}
  template <int N>
  static __device__ __forceinline__ void add(double (&c)[4], const Few<N, double>& x,
                                             const Few<N, double>& x8, const Few<N, double>& y) {
    KERNOPS_UNROLL
    for (int e = 0; e < N; ++e) {
#if __CUDA_ARCH__ >= 900
      asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
          "%3};"
          : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
          : "d"(x.v[e]), "d"(x8.v[e]), "d"(y.v[e]));
#elif __CUDA_ARCH__ >= 800
      const double a[] = {x.v[e], x8.v[e]};
      KERNOPS_UNROLL
      for (int half = 0; half < 2; ++half)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(a[half]), "d"(y.v[e]));
#endif
    }
  }
};

// Products of numbers that are the sums of two parts; Numbers::multiply() adds the products of parts.
template <class Numbers> struct InTwoParts {
  template <class P>
  static __device__ __forceinline__ void add_rest(float (&c)[4], const P& x, const P& x8, const P& y) {
    Numbers::multiply(c, x.high, x8.high, y.low);
    Numbers::multiply(c, x.low, x8.low, y.high);
  }
  template <class P>
  static __device__ __forceinline__ void add(float (&c)[4], const P& x, const P& x8, const P& y) {
    Numbers::multiply(c, x.high, x8.high, y.high);
  }
};

// Floats as the sum of two numbers of 11 bits. What is left out of x y is 2^-22 of it. Infinity has no
// such parts: where a result is not finite, it is to be found otherwise.
struct Floats : InTwoParts<Floats> {
  using T = float;
  template <int N> struct Part { unsigned high[N], low[N]; };
  static constexpr int together = 2, most_chunks = 2, most_resident = 2;

  static __device__ __forceinline__ unsigned rounded(float x) {
    return (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  }
  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, float>& some) {
    Part<N> split;
    KERNOPS_UNROLL
    for (int e = 0; e < N; ++e) {
      split.high[e] = rounded(some.v[e]);
      split.low[e] =
          __float_as_uint(some.v[e] - __uint_as_float(split.high[e]));  // of which 11 bits are taken
    }
    return split;
  }
  template <int N>
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[N],
                                                  const unsigned (&x8)[N], const unsigned (&y)[N]) {
    KERNOPS_UNROLL
    for (int e = 0; e < N; e += 2)
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(x[e]), "r"(x8[e]), "r"(x[e + 1]), "r"(x8[e + 1]), "r"(y[e]), "r"(y[e + 1]));
  }
};

// The same in numbers of 16 bits, twice as fast. They have little room for exponents: put_scaled() makes
// them.
struct Halves : InTwoParts<Halves> {
  using T = float;
  template <int N> struct Part { unsigned high[N / 2], low[N / 2]; };
  static constexpr int together = 2, most_chunks = 4, most_resident = 8;

  static __device__ __forceinline__ Part<4> part(const Few<4, float>& unit) {
    return {{__float_as_uint(unit.v[0]), __float_as_uint(unit.v[1])},
            {__float_as_uint(unit.v[2]), __float_as_uint(unit.v[3])}};
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[2],
                                                  const unsigned (&x8)[2], const unsigned (&y)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(x[0]), "r"(x8[0]), "r"(x[1]), "r"(x8[1]), "r"(y[0]), "r"(y[1]));
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
