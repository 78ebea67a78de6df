// The number formats in which tensor cores multiply, and their accuracy.
//
// A chunk of a vector is 64 bytes, or four units of 16 bytes. Columns and rows are in groups of 8. Thread 4 i + j of a
// warp holds unit j of column i of each group of columns, and unit j of row i of each group of rows. A format defines a
// type Part. The function part() converts a unit of a row to a Part, and of_columns() reads a Part of 8 columns from
// shared memory. Two functions multiply the Parts of 16 rows and 8 columns:
//   add(c, x, x8, y)       adds to c the inner products of rows i (x) and i + 8 (x8) with columns 2 j and 2 j + 1
//   add_rest(c, x, x8, y)  adds the products of the small parts that remain after rounding; called before add()
// Tensor cores truncate sums in formats that are not `exact`. To limit this error, tensor cores sum the products of
// only `together` chunks, and ordinary additions add these sums. A stage is the data that shared memory holds at a
// time. A stage holds all chunks of the columns if the number of chunks times the number of groups of 8 columns is at
// most `most_whole`; if not, a stage holds at most `most_chunks` chunks. A thread keeps at most `most_resident` chunks
// of its rows in registers.
#pragma once
#include <kernops/cuda/wide/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Data centre GPUs have fast double precision units; other GPUs have few such units.
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

// The position of unit u of a chunk of a column. The units of a column are in different banks of shared memory, and the
// units u of 8 adjacent columns are also in different banks.
template <int columns> __device__ __forceinline__ int unit_of_column(int chunk, int column, int u) {
  return (chunk * columns + column) * 4 + (u ^ column / 2 % 4);
}

// Each thread loads one unit of a column: thread 4 i + j loads unit j of column `first` + i.
template <class Numbers, int columns, class T>
__device__ __forceinline__ auto units_of_columns(const T* stage, int chunk, int first) {
  constexpr int unit = 16 / sizeof(T);
  const int thread = threadIdx.x % 32, at = unit_of_column<columns>(chunk, first + thread / 4, thread % 4);
  return Numbers::part(few<unit>(stage + at * unit));
}

// Doubles. Tensor cores multiply and add doubles by fused multiply-adds, without truncation.
struct Doubles {
  using T = double;
  template <int N> using Part = Few<N, double>;
  static constexpr bool exact = true;
  static constexpr int together = 4, most_chunks = 4;
  template <int rows> static constexpr int most_whole = 28;
  template <int rows> static constexpr int most_resident = 16 / rows;

  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, double>& some) { return some; }
  template <int columns> static __device__ __forceinline__ Part<2> of_columns(const T* stage, int chunk, int first) {
    return units_of_columns<Doubles, columns>(stage, chunk, first);
  }
  template <class P> static __device__ __forceinline__ void add_rest(double (&)[4], const P&, const P&, const P&) {}
  // Uses the largest instruction shape, because few large instructions need few changes between tensor core
  // instructions and other instructions. During each change, the double precision units are idle.
  static __device__ __forceinline__ void add(double (&c)[4], const Few<2, double>& x, const Few<2, double>& x8,
                                             const Few<2, double>& y) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(x.v[0]), "d"(x8.v[0]), "d"(x.v[1]), "d"(x8.v[1]), "d"(y.v[0]), "d"(y.v[1]));
#elif __CUDA_ARCH__ >= 800
    KERNOPS_EACH(e, 2) {
      const double a[] = {x.v[e], x8.v[e]};
      KERNOPS_EACH(half, 2)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(a[half]), "d"(y.v[e]));
    }
#endif
  }
};

// Products of numbers that are split into a large and a small part. Numbers::multiply() adds the products of one part
// of x and one part of y.
template <class Numbers> struct InTwoParts {
  static constexpr bool exact = false;
  template <class P>
  static __device__ __forceinline__ void add_rest(float (&c)[4], const P& x, const P& x8, const P& y) {
    Numbers::multiply(c, x.high, x8.high, y.low);
    Numbers::multiply(c, x.low, x8.low, y.high);
  }
  template <class P> static __device__ __forceinline__ void add(float (&c)[4], const P& x, const P& x8, const P& y) {
    Numbers::multiply(c, x.high, x8.high, y.high);
  }
};

// The format for floats that are split into sums of two numbers of 11 bits. The relative error of a product x y is
// 2^-22. An infinite float cannot be split, so sums that are not finite are computed again term by term.
struct Floats : InTwoParts<Floats> {
  using T = float;
  template <int N> struct Part { unsigned high[N], low[N]; };
  static constexpr int together = 2, most_chunks = 2;
  template <int rows> static constexpr int most_whole = 16;
  template <int rows> static constexpr int most_resident = 2;

  static __device__ __forceinline__ unsigned rounded(float x) { return (__float_as_uint(x) + 0x1000u) & 0xffffe000u; }
  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, float>& some) {
    Part<N> split;
    KERNOPS_EACH(e, N) {
      split.high[e] = rounded(some.v[e]);
      split.low[e] = __float_as_uint(some.v[e] - __uint_as_float(split.high[e]));  // tensor cores ignore the low bits
    }
    return split;
  }
  template <int columns> static __device__ __forceinline__ Part<4> of_columns(const T* stage, int chunk, int first) {
    return units_of_columns<Floats, columns>(stage, chunk, first);
  }
  template <int N>
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[N], const unsigned (&x8)[N],
                                                  const unsigned (&y)[N]) {
    KERNOPS_EVERY(e, 2, N)
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(x[e]), "r"(x8[e]), "r"(x[e + 1]), "r"(x8[e + 1]), "r"(y[e]), "r"(y[e + 1]));
  }
};

// The format for floats that are split into sums of two 16-bit numbers. Products take half the time of products of the
// format Floats. 16-bit numbers have a small range of exponents, so put_scaled() scales the vectors. Each unit of a
// column holds 8 numbers, which are one row of a matrix for ldmatrix. Units 0 and 1 hold large parts, and units 2 and 3
// hold small parts.
struct Halves : InTwoParts<Halves> {
  using T = float;
  template <int N> struct Part { unsigned high[N / 2], low[N / 2]; };
  static constexpr int together = 2, most_chunks = 4;
  template <int rows> static constexpr int most_whole = 8 * rows;
  template <int rows> static constexpr int most_resident = 2 * rows;

  static __device__ __forceinline__ Part<4> part(const Few<4, float>& unit) {
    return {{__float_as_uint(unit.v[0]), __float_as_uint(unit.v[1])},
            {__float_as_uint(unit.v[2]), __float_as_uint(unit.v[3])}};
  }
#ifdef __CUDA_ARCH__
  static __device__ __forceinline__ unsigned packed(float first, float second) {
    unsigned both;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
#else
    asm("{.reg .b16 a, b; cvt.rn.f16.f32 a, %1; cvt.rn.f16.f32 b, %2; mov.b32 %0, {a, b};}"
        : "=r"(both)
        : "f"(first), "f"(second));
#endif
    return both;
  }
  // The remainders of two numbers after rounding to 16 bits.
  static __device__ __forceinline__ unsigned rest(float first, float second, unsigned both) {
    float high_first, high_second;
    asm("{.reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
        : "=f"(high_first), "=f"(high_second)
        : "r"(both));
    return packed(first - high_first, second - high_second);
  }
#else
  static __device__ __forceinline__ unsigned rounded(float x) {
    const unsigned bits = __float_as_uint(abs(x) * 0x1p-112f);
    return (bits + 0xfff + (bits >> 13 & 1)) >> 13 | (x < 0 ? 0x8000 : 0);
  }
  static __device__ __forceinline__ float number(unsigned half) {
    const float x = __uint_as_float((half & 0x7fff) << 13) * 0x1p112f;
    return half & 0x8000 ? -x : x;
  }
  static __device__ __forceinline__ unsigned packed(float first, float second) {
    return rounded(first) | rounded(second) << 16;
  }
  static __device__ __forceinline__ unsigned rest(float first, float second, unsigned both) {
    return packed(first - number(both & 0xffff), second - number(both >> 16));
  }
#endif
  static __device__ __forceinline__ Part<4> split(float a, float b, float c, float d) {
    const unsigned first = packed(a, b), second = packed(c, d);
    return {{first, second}, {rest(a, b, first), rest(c, d, second)}};
  }
  // Loads four 8 x 8 matrices; thread n passes the address of row n % 8 of matrix n / 8. Thread 4 i + j receives the
  // numbers 2 j and 2 j + 1 of row i of each matrix. If matrices are transposed, the thread receives these numbers of
  // column i.
#define KERNOPS_MATRICES(name, turned)                                                        \
  static __device__ __forceinline__ Part<4> name(const T* row) {                              \
    Part<4> y;                                                                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" turned ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(y.high[0]), "=r"(y.high[1]), "=r"(y.low[0]), "=r"(y.low[1])           \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))                  \
                 : "memory");                                                                 \
    return y;                                                                                 \
  }
  KERNOPS_MATRICES(matrices, "")
  KERNOPS_MATRICES(turned_matrices, ".trans")
#undef KERNOPS_MATRICES
  template <int columns> static __device__ __forceinline__ Part<4> of_columns(const T* stage, int chunk, int first) {
    const int thread = threadIdx.x % 32;
    return matrices(stage + unit_of_column<columns>(chunk, first + thread % 8, thread / 8) * 4);
  }
  // Loads unit u of 16 columns for a product that sums over columns. Column i of a loaded matrix is entry i / 2 * 4 + 2
  // u + i % 2 of the chunk.
  template <int columns>
  static __device__ __forceinline__ Part<4> along_columns(const T* stage, int chunk, int first, int u) {
    const int thread = threadIdx.x % 32;
    return turned_matrices(stage + unit_of_column<columns>(chunk, first + thread % 16, u + thread / 16 * 2) * 4);
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[2], const unsigned (&x8)[2],
                                                  const unsigned (&y)[2]) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(x[0]), "r"(x8[0]), "r"(x[1]), "r"(x8[1]), "r"(y[0]), "r"(y[1]));
#else
    KERNOPS_EACH(half, 2)
      asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(x[half]), "r"(x8[half]), "r"(y[half]));
#endif
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
