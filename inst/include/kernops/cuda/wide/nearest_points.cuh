// The terms from which bounds of distances are computed (cuda/wide/nearest.cuh): the centred vectors, as 16-bit numbers
// that tensor cores multiply, and the lengths of the vectors.
//
// All vectors are scaled by the same power of 2, so that the longest vector has a length between 2^14 and 2^15. With
// the scaled lengths |x| and |y|, a lower bound of half the squared distance of x and y is
//   (1/2 - e) |x|^2 - s(x) + (1/2 - e) |y|^2 - s(y) - (x | y)
// A lower bound of -(x | y) is the same expression without 1/2. For this bound, the vectors are not centred, and rows
// and columns have separate scales. The terms e |x|^2 + e |y|^2 cover the error of the inner product: the 16-bit
// numbers have 11 significant bits, or 22 significant bits if they are split into two parts. After each 16 products,
// tensor cores truncate the bits below 2^-23 of the largest number. Sums over chunks (32 numbers) are rounded. The
// terms s(x) and s(y) cover entries below 2^-14, whose 16-bit numbers have fewer bits.
#pragma once
#include <kernops/jobs/nearest.h>
#include <kernops/cuda/wide/nearest_list.cuh>
#include <kernops/cuda/wide/tensor_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <int size, int parts, bool product> struct NearestBounds {
  static constexpr int numbers = 32 / parts, chunks = (size + numbers - 1) / numbers;
  static constexpr double cut_off = 17.0 / (1 << 23),
                          e = (parts == 1 ? 1.001 / (1 << 11) + 2 * chunks * cut_off : 1.0 / (1 << 21) + 6 * cut_off) +
                              (chunks + 8.0) / (1 << 24);

  template <class T> static __device__ __forceinline__ T slack(T squared) {
    return sqrt(size * squared) / (1 << 24) + size / T(1LL << 48);
  }
  // Returns the term of the bound for a vector with the squared length `squared`.
  static __device__ __forceinline__ double bound(double squared) {
    return ((product ? 0 : 0.5) - e) * squared - slack(squared);
  }
  static __device__ __forceinline__ float margin(float row, float column) {
    return 2.001f * (float(e) * (row + column) + slack(row) + slack(column));
  }
  // The limit of the bounds of a row: columns with larger bounds are not among the k nearest. `last` is the k-th
  // smallest bound. The bounds and the limit omit the term of the row. The error of `last` grows with the length of the
  // column's vector. This error is limited, because the vectors of near columns are hardly longer than the vector of
  // the row.
  static __device__ __forceinline__ float limit(float last, float row, float longest) {
    float column = longest;
    KERNOPS_EACH(n, product ? 0 : 3) {
      const float squared = row + 2 * (last + margin(row, column));
      const float length = sqrt(row) + sqrt(squared > 0 ? squared : 0);
      if (length * length < column) column = 1.0001f * length * length;
    }
    return last + margin(row, column);
  }
};
template <class Nearest> using BoundsOf = NearestBounds<Nearest::size, Nearest::parts, Nearest::product != 0>;

// Returns the squared length of the longest vector of the rows or of the columns. For distances, the result is the
// maximum over rows and columns.
template <class Nearest> __device__ __forceinline__ double longest_squared(const NearestJob& job, bool of_rows) {
  const double rows = job.longest[0], columns = job.longest[1];
  return Nearest::product ? (of_rows ? rows : columns) : larger(rows, columns);
}
// Returns the power of 2 that scales the vectors of rows or columns. Returns 0 if the longest vector is too long or too
// short for bounds.
template <class Nearest> __device__ __forceinline__ double nearest_scale(const NearestJob& job, bool of_rows) {
  const int exponent = (__double2hiint(sqrt(longest_squared<Nearest>(job, of_rows))) >> 20) - 1023;
  return exponent < -400 || exponent > 400 ? 0 : __hiloint2double((14 - exponent + 1023) << 20, 0);
}
// Returns the squared length of the longest vector of the columns, after scaling.
template <class Nearest> __device__ __forceinline__ float longest_column(const NearestJob& job) {
  const double scale = nearest_scale<Nearest>(job, false);
  return float(longest_squared<Nearest>(job, false) * (scale * scale));
}

// Maps floats to unsigned integers that have the same order.
__device__ __forceinline__ unsigned bits_in_order(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 0x80000000;
}
__device__ __forceinline__ float in_order(unsigned bits) {
  return bits == ~0u ? infinity<float>() : __uint_as_float(bits >> 31 ? bits & 0x7fffffff : ~bits);
}

__device__ __forceinline__ int whole_tiles(int count) {
  return (count + nearest_tile - 1) / nearest_tile * nearest_tile;
}

__device__ __forceinline__ double sum_of_warp(double x) {
  KERNOPS_UNROLL
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// row_vector() and column_vector() return the address of the vector of a row or of a column.
template <class Formula, class Nearest>
__device__ __forceinline__ const double* row_vector(const NearestJob& job, int row) {
  return job.rows.items + row * (long long)padded<double>(Formula::row) + Nearest::row;
}
template <class Formula, class Nearest>
__device__ __forceinline__ const double* column_vector(const NearestJob& job, int column) {
  return job.columns.items + column * (long long)padded<double>(Formula::column) + Nearest::column;
}

// The row or column that a warp processes. Rows and columns are padded to whole tiles.
template <class Formula, class Nearest> struct PointOfWarp {
  const NearestJob& job;
  bool is_row;
  const NearestPoints& all;
  int n;

  static __device__ __forceinline__ int warp() { return int(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32); }
  explicit __device__ __forceinline__ PointOfWarp(const NearestJob& job)
      : job(job),
        is_row(warp() < whole_tiles(job.rows.count)),
        all(is_row ? job.rows : job.columns),
        n(is_row ? warp() : warp() - whole_tiles(job.rows.count)) {}

  __device__ __forceinline__ bool exists() const { return n < all.count; }
  __device__ __forceinline__ bool has_place() const { return n < whole_tiles(all.count); }
  __device__ __forceinline__ double seen(int e) const {
    const double* const x = is_row ? row_vector<Formula, Nearest>(job, n) : column_vector<Formula, Nearest>(job, n);
    return exists() && e < Nearest::size ? x[e] - (Nearest::product ? 0 : job.centre[e]) : 0;
  }
};

// Computes the mean of the first 64 rows, in one block.
template <class Formula, class Nearest> __device__ void find_centre(const NearestJob& job) {
  const int count = job.rows.count < 64 ? job.rows.count : 64;
  for (int e = threadIdx.x; e < Nearest::size; e += blockDim.x) {
    double sum = 0;
    for (int n = 0; n < count; ++n) sum += row_vector<Formula, Nearest>(job, n)[e];
    job.centre[e] = sum / count;
  }
}

// Computes the norm of each point; one warp per point.
template <class Formula, class Nearest> __device__ void find_norms(const NearestJob& job) {
  const PointOfWarp<Formula, Nearest> point(job);
  if (!point.exists()) return;
  double sum = 0;
  for (int e = lane_of_warp(); e < Nearest::size; e += 32) sum += sq(point.seen(e));
  sum = sum_of_warp(sum);
  if (!(sum < infinity<double>())) *job.odd = 1;
  if (lane_of_warp() > 0) return;
  point.all.norms[point.n] = sum;
  double* const longest = job.longest + (point.is_row ? 0 : 1);
  if (!(sum <= *const_cast<volatile const double*>(longest)))
    atomicMax(reinterpret_cast<unsigned long long*>(longest), (unsigned long long)__double_as_longlong(sum));
}

// Writes the 16-bit numbers of each point: one warp per point, one lane per unit of 8 numbers. A chunk consists of four
// units. If each number is split into two parts, a chunk has two units of large parts and two units of small parts.
template <class Formula, class Nearest> __device__ void find_halves(const NearestJob& job) {
  using Bounds = BoundsOf<Nearest>;
  constexpr int units = 4 / Nearest::parts;
  const PointOfWarp<Formula, Nearest> point(job);
  if (!point.has_place()) return;
  const double scale = nearest_scale<Nearest>(job, point.is_row);
  const double factor = point.is_row && Nearest::product > 0 ? -scale : scale;
  float* const chunks = point.all.halves + point.n * (long long)(16 * Bounds::chunks);
  for (int u = lane_of_warp(); u < units * Bounds::chunks; u += 32) {
    float x[8];
    KERNOPS_EACH(e, 8) x[e] = float(point.seen(8 * u + e) * factor);
    float* const to = chunks + u / units * 16 + u % units * 4;
    const auto first = Halves::split(x[0], x[1], x[2], x[3]), second = Halves::split(x[4], x[5], x[6], x[7]);
    const auto put = [&](float* to, const unsigned(&a)[2], const unsigned(&b)[2]) {
      *reinterpret_cast<Few<4, unsigned>*>(to) = Few<4, unsigned>{{a[0], a[1], b[0], b[1]}};
    };
    put(to, first.high, second.high);
    if (Nearest::parts == 2) put(to + 8, first.low, second.low);
  }
  if (lane_of_warp() > 0) return;
  const double squared = point.exists() ? point.all.norms[point.n] * (scale * scale) : 0;
  if (point.is_row) {
    point.all.bounds[point.n] = float(squared);
    job.limits[point.n] = ~0u;
  } else {
    float* const twice = point.all.bounds + point.n / 2 * 4 + point.n % 2;
    twice[0] = twice[2] = point.exists() ? -float(Bounds::bound(squared)) : -infinity<float>();
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
