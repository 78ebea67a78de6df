// Copies selected rows and columns of a matrix on the device; NVRTC compiles this file.
#pragma once
#include <kernops/jobs/matrix.h>
#include <kernops/sixteen_bits.h>

namespace kernops {

// Copies the selected entries to the result, in column-major order, with one thread per row of the result. If `rows` is
// null, all rows are selected.
template <class T> __device__ void gather(const GatherJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n >= job.row_count) return;
  for (int column = blockIdx.y; column < job.column_count; column += gridDim.y) {
    const T* from = static_cast<const T*>(job.from) + (job.columns[column] - 1) * job.from_rows;
    static_cast<T*>(job.out)[column * job.row_count + n] = from[job.rows ? job.rows[n] - 1 : n];
  }
}

template <class From, class To> __device__ void convert(const ConvertJob& job) {
  const long long step = gridDim.x * (long long)blockDim.x;
  for (long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x; n < job.count; n += step)
    static_cast<To*>(job.to)[n] = To(double(static_cast<const From*>(job.from)[n]));
}

// The entry points.
#define KERNOPS_CONVERT(...) \
  extern "C" __global__ void kernops_convert(kernops::ConvertJob job) { kernops::convert<__VA_ARGS__>(job); }
#define KERNOPS_MATRIX                                                                                       \
  extern "C" __global__ void kernops_gather_double(kernops::GatherJob job) { kernops::gather<double>(job); } \
  extern "C" __global__ void kernops_gather_float(kernops::GatherJob job) { kernops::gather<float>(job); }   \
  extern "C" __global__ void kernops_gather_sixteen_bits(kernops::GatherJob job) {                           \
    kernops::gather<unsigned short>(job);                                                                    \
  }

}  // namespace kernops
