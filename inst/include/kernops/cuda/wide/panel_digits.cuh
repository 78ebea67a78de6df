// Exact products of matrices by the 8-bit integer units (Ootomo, Ozaki and Yokota 2024, for products of doubles). Each
// number is rounded to a multiple of a step (a power of 2), and the multiple is written with some signed digits to the
// base 256. One matrix product computes the products of digit i of one number and digit j of the other number, for all
// pairs (i, j) with the same sum i + j (cuda/pairs/panel_digits.cpp). Contractions use three digits; the omitted part
// of a sum is then about 2^-24 of the largest product. Products of scalars and vectors use four digits, and the omitted
// part is about 2^-29. Four digits are needed because the scalars of a row share one step. If the row equals a column,
// the scalar of this pair may be far larger than all other scalars of the row, although it multiplies a difference of
// 0.
#pragma once
#include <kernops/jobs/panels.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

struct Larger {
  KERNOPS_FN double operator()(double x, double y) const { return larger(x, y); }
};
struct Plus {
  KERNOPS_FN double operator()(double x, double y) const { return x + y; }
};
// For each row, joins the values of all threads of a block in a fixed order; each thread receives the joined values.
template <int warps, class Join, int rows>
__device__ __forceinline__ void join_block(double (&v)[rows], double* shared, Join join) {
  KERNOPS_EACH(r, rows) {
    KERNOPS_UNROLL
    for (int step = 16; step > 0; step /= 2) v[r] = join(v[r], __shfl_xor_sync(~0u, v[r], step));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32 * rows + r] = v[r];
  }
  __syncthreads();
  KERNOPS_EACH(r, rows) {
    v[r] = shared[r];
    KERNOPS_UNROLL
    for (int w = 1; w < warps; ++w) v[r] = join(v[r], shared[w * rows + r]);
  }
}

__device__ __forceinline__ double power_of_2(int n) { return __hiloint2double((n + 1023) << 20, 0); }

// The entries of a vector are rounded to multiples of a step, a power of 2. The step is chosen such that all digits are
// between -128 and 127 for entries up to `largest`. `size` is 16^(places - 1) times the step, as stored in Digits, and
// `inverse` is the inverse of the step. `size` and `inverse` are 0 if all entries are (nearly) 0.
struct Step {
  double size, inverse;
  __device__ __forceinline__ Step(double largest, int places) {
    const int exponent = (__double2hiint(largest * (128.0 / 127)) >> 20 & 0x7ff) - 1022 - (8 * places - 1);
    const bool none = exponent < -960;
    size = none ? 0 : power_of_2(exponent + 4 * (places - 1)), inverse = none ? 0 : power_of_2(-exponent);
  }
};

// Returns the last digit of a whole number, and removes it from the number.
__device__ __forceinline__ int take_digit(int& whole) {
  const int digit = static_cast<signed char>(whole);
  whole = (whole - digit) >> 8;
  return digit;
}

// Writes the digits of 4 adjacent numbers. The first digits of the 4 numbers are adjacent; the second digits follow at
// a distance of `length` bytes, and so on.
__device__ __forceinline__ void put_four(const double* numbers, double inverse, signed char* to, int length) {
  unsigned four[sum_places] = {};
  KERNOPS_EACH(e, 4) {
    int whole = int(rint(numbers[e] * inverse));
    KERNOPS_UNROLL
    for (int d = sum_places - 1; d >= 0; --d) four[d] |= (unsigned(take_digit(whole)) & 255) << 8 * e;
  }
  KERNOPS_EACH(d, sum_places) *reinterpret_cast<unsigned*>(to + d * length) = four[d];
}

constexpr int digit_threads = 256;

// Writes the digits of a vector; one block per vector.
__device__ __forceinline__ void make_digits(const DigitJob& job) {
  __shared__ double shared[digit_threads / 32];
  const int places = job.to.places;
  for (int n = blockIdx.x; n < job.items; n += gridDim.x) {
    const double* x = job.from + n * job.item;
    double largest[1] = {0}, check = 0;
    for (int k = threadIdx.x; k < job.entries; k += digit_threads) {
      const double entry = x[k * job.entry];
      largest[0] = larger(abs(entry), largest[0]), check += entry * 0;
    }
    if (check != 0) *job.odd = 1;
    join_block<digit_threads / 32>(largest, shared, Larger());
    const Step step(largest[0], places);
    if (threadIdx.x == 0) job.to.steps[n] = step.size;
    signed char* to = job.to.at + n * (long long)places * job.to.length;
    for (int k = threadIdx.x; k < job.to.length; k += digit_threads) {
      int whole = k < job.entries ? int(rint(x[k * job.entry] * step.inverse)) : 0;
      for (int d = places - 1; d >= 0; --d)
        to[(job.backwards ? places - 1 - d : d) * job.to.length + k] = take_digit(whole);
    }
    __syncthreads();  // waits until all threads have read shared memory
  }
}

// Adds the products of the scalars and the vectors of the columns to the sums of the rows; one thread per sum.
__device__ __forceinline__ void add_products(const PanelJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const int row = int(n / job.width), k = int(n % job.width);
  if (row >= job.row_count) return;
  const int* product = job.products + row * (long long)job.product_width + k;
  long long whole = 0;
  KERNOPS_EACH(place, sum_places) whole = 256 * whole + product[place * job.apart];
  const double sum = double(whole) * job.number_steps[row] * job.vector_steps[k];
  job.sums[n] = (job.adds ? job.sums[n] : 0) + sum;
}

#define KERNOPS_DIGIT_KERNELS                                                                      \
  KERNOPS_KERNEL(__launch_bounds__(256) kernops_digits, const __grid_constant__ kernops::DigitJob, \
                 kernops::make_digits)                                                             \
  KERNOPS_KERNEL(kernops_add_products, const __grid_constant__ kernops::PanelJob, kernops::add_products)

}  // namespace KERNOPS_ISA
}  // namespace kernops
