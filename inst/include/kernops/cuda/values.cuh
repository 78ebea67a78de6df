// Values in registers, and the operations of ops.def on them, which generated text calls.
#pragma once
#include <kernops/ops.h>
#include <kernops/cuda/kernel.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// A vector in registers; entries are selected by compile-time constants. A vector of size 1 has the same entry for
// every k.
template <class T, int N> struct Vec {
  T v[N];
  KERNOPS_FN const T& operator[](int k) const { return v[N == 1 ? 0 : k]; }
};

// A vector in memory, of any length.
template <class T, int N> struct Span { const T* v; };

// Copies `from` to `to`. A long value is copied by a loop, because unrolled code takes minutes to compile.
template <class A> KERNOPS_FN void assign(A& to, const A& from) {
  if constexpr (sizeof(A) <= 2048) {
    to = from;
  } else {
    char* bytes = reinterpret_cast<char*>(&to);
    const char* given = reinterpret_cast<const char*>(&from);
    KERNOPS_UNROLL_BY(4)
    for (unsigned k = 0; k < sizeof(A); k += 4) memcpy(bytes + k, given + k, 4);
  }
}

template <class A, class B> struct SameType { static constexpr bool value = false; };
template <class A> struct SameType<A, A> { static constexpr bool value = true; };

template <class T> KERNOPS_FN Vec<T, 1> one() { return {T(1)}; }

// Returns a reference to entries offset .. offset + size - 1 of a longer value. A copy would take longer to compile.
template <int offset, int size, class T, int N> KERNOPS_FN const Vec<T, size>& part(const Vec<T, N>& whole) {
  static_assert(offset + size <= N, "entries of it");
  return reinterpret_cast<const Vec<T, size>&>(whole.v[offset]);
}
template <int offset, int size, class T> KERNOPS_FN Span<T, size> part(const T* whole) { return {whole + offset}; }

// An argument of an operation. As on the CPU (cpu/tiles.h), arguments of all levels (row, column or pair) have this
// type.
template <class T> struct RegisterView {
  const T* v;
  bool repeats;
  KERNOPS_FN const T& operator[](int k) const { return v[repeats ? 0 : k]; }
};

// Applies the operation Op, and writes the result to `result`. The function does not return the result, because the
// compiler needs much time for copies of long values.
template <class Op, int size, int p, int q, class T, int A = 1, int B = 1, int C = 1>
KERNOPS_FN void apply_to(Vec<T, size>& result, const Vec<T, A>& a = one<T>(), const Vec<T, B>& b = one<T>(),
                         const Vec<T, C>& c = one<T>()) {
  using View = RegisterView<T>;
  KERNOPS_EACH_FEW(k, size)
    result.v[k] = Op::template entry<T>(k, View{a.v, A == 1}, View{b.v, B == 1}, View{c.v, C == 1}, A, B, C, p, q);
}
template <class Op, int size, int p, int q, class T, int A, int B, int C>
KERNOPS_FN Vec<T, size> apply(const Vec<T, A>& a, const Vec<T, B>& b, const Vec<T, C>& c) {
  Vec<T, size> result;
  apply_to<Op, size, p, q>(result, a, b, c);
  return result;
}
template <class Op, int size, int p, int q, class T, int A, int B>
KERNOPS_FN Vec<T, size> apply(const Vec<T, A>& a, const Vec<T, B>& b) {
  return apply<Op, size, p, q>(a, b, one<T>());
}
template <class Op, int size, int p, int q, class T, int A> KERNOPS_FN Vec<T, size> apply(const Vec<T, A>& a) {
  return apply<Op, size, p, q>(a, one<T>(), one<T>());
}
template <class Op, int size, int p, int q, class T> KERNOPS_FN Vec<T, size> apply() {
  return apply<Op, size, p, q>(one<T>(), one<T>(), one<T>());
}

// Computes an expanded exponent: one norm, or the sum of two norms, plus an inner product. For c |x - y|^2, the norms
// are c |x|^2 and c |y|^2, and the vectors are -2 c x and y.
template <class T, int D> KERNOPS_FN Vec<T, 1> expanded(const Vec<T, 1>& norm, const Vec<T, D>& x, const Vec<T, D>& y) {
  T sum = norm.v[0];
  KERNOPS_EACH(k, D) sum += x.v[k] * y.v[k];
  return {sum};
}
template <class T, int D>
KERNOPS_FN Vec<T, 1> expanded(const Vec<T, 1>& row_norm, const Vec<T, 1>& column_norm, const Vec<T, D>& x,
                              const Vec<T, D>& y) {
  return expanded(Vec<T, 1>{row_norm.v[0] + column_norm.v[0]}, x, y);
}
template <class T> KERNOPS_FN Vec<T, 1> exp2_of_small(const Vec<T, 1>& x) { return {exp2_of_small(x.v[0])}; }

// Computes exponentials of one pair; `turn` is the index of this pair among the pairs that a thread processes at a
// time.
template <class T, int D> KERNOPS_FN Vec<T, D> exp2_in_turn(const Vec<T, D>& x, int turn) {
  Vec<T, D> result;
  KERNOPS_EACH(k, D) result.v[k] = exp2_in_turn(x.v[k], turn);
  return result;
}

template <int every, class T> KERNOPS_FN Vec<T, 1> exp2_of_minus(const Vec<T, 1>& x, int turn) {
  return {exp2_of_minus<every>(x.v[0], turn)};
}

// True if an exponent with this norm can be expanded; the row or column is then called near. Cancellation between the
// two norms of a pair adds an absolute error of at most 2 x 32 unit roundoffs to the exponent, about as much as
// rounding the coordinates to T. NaN gives false.
template <class T> KERNOPS_FN bool is_near(T norm) { return abs(norm) <= T(32); }

// True if a weight times 2^norm of a near column stays within the range of the type.
KERNOPS_FN bool is_moderate(float weight) { return weight == 0 || (abs(weight) > 1e-18f && abs(weight) < 1e18f); }
KERNOPS_FN bool is_moderate(double weight) { return weight == 0 || (abs(weight) > 1e-280 && abs(weight) < 1e280); }

// True if the exponents of pairs with this column can be expanded.
template <class Near, class T> KERNOPS_FN bool is_near_column(const T* column) {
  return is_near(column[Near::norm]) && (Near::weight == Near::norm || is_moderate(column[Near::weight]));
}

// Multiplies the weight of the column by 2^norm or, if the column has no weight, sets the weight to 2^norm. This saves
// one addition for each exponent.
template <class Near, class T> KERNOPS_FN void weight_column(T* column) {
  const T power = exp2_of_small(column[Near::norm]);
  column[Near::weight] = Near::weight == Near::norm ? power : column[Near::weight] * power;
}

// Vectors of an expansion, for the inner products of tensor cores. An exponent c |x - y|^2 requires the product of two
// vectors, which are centred and scaled by sqrt(2 |c|); one of the two vectors is also multiplied by the sign of -c. If
// is_near() is true for both norms, each float is split into a large and a small part, which are 16-bit numbers with 11
// significant bits. The vectors are multiplied by 2^12 to prevent underflow. A chunk of 16 entries takes 16 words. In a
// row, 4 consecutive entries are stored together: first their large parts, then their small parts. In a column, the
// order is: the large parts of the first two of each 4 entries, the large parts of the last two of each 4 entries, and
// then the small parts in the same order (cuda/wide/tensor_numbers.cuh).
constexpr float halves_scale = 4096;
#if __CUDA_ARCH__ >= 800
template <class T> KERNOPS_FN Vec<T, 1> unscaled() {
  return {sizeof(T) == 4 ? T(1) / (T(halves_scale) * T(halves_scale)) : T(1)};
}
__device__ __forceinline__ unsigned short half_of(float x) {
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}
__device__ __forceinline__ float from_half(unsigned short half) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  return x;
}
KERNOPS_FN double put_scaled_quad(float* chunk, int quad, bool of_column, const float (&v)[4]) {
  unsigned short high[4], low[4];
  double sum = 0;
  for (int e = 0; e < 4; ++e) {
    high[e] = half_of(v[e] * halves_scale);
    low[e] = half_of(v[e] * halves_scale - from_half(high[e]));
    sum += sq((double(from_half(high[e])) + double(from_half(low[e]))) / halves_scale);
  }
  float* to = chunk + (of_column ? quad : 4 * quad);
  const int step = of_column ? 4 : 1;
  for (int e = 0; e < 2; ++e) {
    to[e * step] = __uint_as_float(high[2 * e] | unsigned(high[2 * e + 1]) << 16);
    to[(2 + e) * step] = __uint_as_float(low[2 * e] | unsigned(low[2 * e + 1]) << 16);
  }
  return sum;
}
#else
template <class T> KERNOPS_FN Vec<T, 1> unscaled() { return {T(1)}; }
KERNOPS_FN double put_scaled_quad(float* chunk, int quad, bool, const float (&v)[4]) {
  double sum = 0;
  for (int e = 0; e < 4; ++e) chunk[4 * quad + e] = v[e], sum += sq(double(v[e]));
  return sum;
}
#endif
KERNOPS_FN double put_scaled_quad(double* chunk, int quad, bool, const double (&v)[4]) {
  double sum = 0;
  for (int e = 0; e < 4; ++e) chunk[4 * quad + e] = v[e], sum += sq(v[e]);
  return sum;
}
// Loads or stores 16 bytes at once.
template <class T> struct Quad;
template <> struct Quad<float> {
  using type = float4;
  static constexpr int size = 4;
};
template <> struct Quad<double> {
  using type = double2;
  static constexpr int size = 2;
};
template <class T> KERNOPS_FN void copy_quad(T* to, const T* from) {
  *reinterpret_cast<typename Quad<T>::type*>(to) = *reinterpret_cast<const typename Quad<T>::type*>(from);
}

// Stores the entries at(k) of a vector, padded with zeros from `size` to `room` entries. If `as_matrices` is true, the
// entries are stored in the layout of columns; warp groups use this layout for rows, too. If `as_matrices` is false,
// the entries are stored in the layout of rows. Returns the squared length of the vector.
template <int size, int room, bool as_matrices, class T, class At> KERNOPS_FN double put_halves(T* whole, At at) {
  double square = 0;
  KERNOPS_UNROLL_BY(1)
  for (int k = 0; k < room; k += 16) {
    alignas(16) T chunk[16];
    KERNOPS_EVERY(n, 4, 16) {
      T some[4];
      KERNOPS_EACH(e, 4) some[e] = k + n + e < size ? at(k + n + e) : T(0);
      square += put_scaled_quad(chunk, n / 4, as_matrices, some);
    }
    KERNOPS_EVERY(e, Quad<T>::size, 16) copy_quad(whole + k + e, chunk + e);
  }
  return square;
}

// Stores a vector of an expanded exponent, and its norm. Negative weights of coordinates make the norm NaN. The norm is
// computed from the stored vector, so that the rounding of the vector has the same effect as a small shift of the
// point. If a weighted sum also reads the vectors of columns (`summed`), a column is not near (is_near()) if its vector
// is so short that the 16-bit numbers have too few significant bits.
template <int offset, int norm, int sign, int room, bool as_matrices, bool summed, class T, int size>
KERNOPS_FN void put_scaled(T* whole, Span<T, size> x, Span<T, 1> c, Span<T, size> centre = {},
                           Span<T, size> weights = {}) {
  const T scale = sqrt(abs(T(2) * c.v[0])) * (sign > 0 || c.v[0] < T(0) ? T(1) : T(-1));
  bool zero = true;
  const double square = put_halves<size, room, as_matrices>(whole + offset, [&](int k) {
    const T seen = centre.v ? x.v[k] - centre.v[k] : x.v[k];
    zero = zero && seen == T(0);
    return weights.v ? scale * sqrt(weights.v[k]) * seen : scale * seen;
  });
  const bool coarse = summed && !zero && square < (sizeof(T) == 4 ? 1e-9 : 1e-280);
  whole[norm] = coarse ? T(1e30) : T(c.v[0] < T(0) ? -0.5 * square : 0.5 * square);
}

// Stores a vector of an inner product, divided by a power of two such that the largest entry is between 4 and 8. The
// vector is not near (the tensor cores cannot use it) if it is not finite, or if its largest entry is outside 2^-60 ..
// 2^60. Entries that are much smaller than the largest entry lose digits, which matters only in products with large
// entries of the other vector. Therefore `norm` is 2 if a nonzero entry is much smaller, 1 if only zeros are much
// smaller, and 0 if no entry is much smaller. A pair is near if its two norms add up to less than 3. If a weighted sum
// also reads the vectors of columns (`summed`), a column is not near if an entry is so small that it has too few
// digits.
template <int offset, int norm, int power, bool as_matrices, int room, bool summed, int size>
KERNOPS_FN void put_product(float* whole, Span<float, size> x) {
  float most = 0;
  bool finite = true;
  KERNOPS_UNROLL_BY(4)
  for (int k = 0; k < size; ++k) finite = finite && abs(x.v[k]) <= 0x1p60f, most = larger(most, abs(x.v[k]));
  const bool near = finite && (most == 0 || most >= 0x1p-60f);
  const unsigned exponent = near && most > 0 ? (__float_as_uint(most) & 0x7f800000u) - (2u << 23) : 127u << 23;
  const float inverse = __uint_as_float((254u << 23) - exponent);
  float least = most;  // the smallest absolute value of a nonzero entry
  bool zero = false;
  put_halves<size, room, as_matrices>(whole + offset, [&](int k) {
    zero = zero || x.v[k] == 0;
    if (x.v[k] != 0 && abs(x.v[k]) < least) least = abs(x.v[k]);
    return inverse * x.v[k];
  });
  const bool coarse = summed && least < most * 0x1p-23f;
  whole[norm] = !near || coarse ? 1e30f : least < most * 0x1p-17f ? 2.0f : zero ? 1.0f : 0.0f;
  whole[power] = __uint_as_float(exponent);
}
KERNOPS_FN Vec<float, 1> rescaled(const Vec<float, 1>& product, const Vec<float, 1>& row, const Vec<float, 1>& column) {
  return {product.v[0] * (unscaled<float>().v[0] * row.v[0]) * column.v[0]};
}

// Applies an operation to vectors in memory, and writes the result to memory. This function serves values that are
// computed once per row or column.
template <class Op, int offset, int size, int p, int q, class T, int A = 1, int B = 1, int C = 1>
KERNOPS_FN void put(T* whole, Span<T, A> a = {}, Span<T, B> b = {}, Span<T, C> c = {}) {
  using View = RegisterView<T>;
  KERNOPS_UNROLL_BY(4)
  for (int k = 0; k < size; ++k)
    whole[offset + k] =
        Op::template entry<T>(k, View{a.v, A == 1}, View{b.v, B == 1}, View{c.v, C == 1}, A, B, C, p, q);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
