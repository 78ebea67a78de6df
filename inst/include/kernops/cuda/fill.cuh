// Fills the levels of a Formula with input data, and with values computed from the data. The levels are the uniform
// values, and the values of each row and of each column; an item is one row or one column.
#pragma once
#include <kernops/jobs/device.h>
#include <kernops/sixteen_bits.h>
#include <kernops/cuda/programmatic_launch.cuh>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> KERNOPS_FN constexpr int padded(int entries) { return kernops::padded(entries, sizeof(T)); }

constexpr int long_item = 16;  // minimum number of entries of a long item

// Loads N numbers of an item, 16 bytes at a time if the stride of the items allows it.
template <int N, class T> __device__ __forceinline__ Vec<T, N> load(const T* from) {
  constexpr int stride = padded<T>(N), wide = Quad<T>::size;
  alignas(16) Vec<T, stride> all;
  if (stride % wide == 0) {
    KERNOPS_UNROLL_FEW(stride)
    for (int k = 0; k < stride; k += wide) copy_quad(all.v + k, from + k);
  } else {
    KERNOPS_EACH_FEW(k, N) all.v[k] = from[k];
  }
  return part<0, N>(all);
}
// Loads N numbers into `to`. The function does not return the numbers, because copies of long values take the compiler
// much time.
template <int N, class T> __device__ __forceinline__ void load_to(Vec<T, N>& to, const T* from) {
  if constexpr (KERNOPS_IS_LONG(N)) {
    KERNOPS_UNROLL_BY(4)
    for (int k = 0; k < N; ++k) to.v[k] = from[k];
  } else {
    to = load<N>(from);
  }
}

// Returns entry k of item n. The function tests the kind of the source for each entry, because a separate loop for each
// kind would take longer to compile.
template <class T>
__device__ __forceinline__ T entry_of(const DeviceSource& s, const double* given, long long n, int k) {
  const long long at = n * s.item + k * s.entry;
  if (s.kind == DeviceSource::doubles) return T(__ldg(static_cast<const double*>(s.data) + at));
  if (s.kind == DeviceSource::floats) return T(__ldg(static_cast<const float*>(s.data) + at));
  if (s.kind == DeviceSource::bfloat16) return T(static_cast<const Bfloat16*>(s.data)[at]);
  if (s.kind == DeviceSource::float16) return T(static_cast<const Float16*>(s.data)[at]);
  return T(s.kind == DeviceSource::constant ? s.value
           : s.kind == DeviceSource::given  ? given[s.first + k]
                                            : double(s.first + n + 1));
}

// Copies every `step`th entry of a source, from entry `first` on, to item n of a level. If one thread copies a long
// item, the thread writes 16 bytes at a time, because the threads of a warp write to distant addresses.
template <bool by_quads = false, class T>
__device__ __forceinline__ void gather(const DeviceSource& s, const double* given, long long n, T* out, int first,
                                       int step) {
  int k = first;
  if constexpr (by_quads) {
    const int whole = s.offset % 4 == 0 ? s.size / 4 * 4 : 0;
    KERNOPS_UNROLL_BY(1)
    for (; k < whole; k += 4) {
      alignas(16) T some[4];
      KERNOPS_EACH(e, 4) some[e] = entry_of<T>(s, given, n, k + e);
      KERNOPS_EVERY(e, Quad<T>::size, 4) copy_quad(out + s.offset + k + e, some + e);
    }
  }
  KERNOPS_UNROLL_BY(1)
  for (; k < s.size; k += step) out[s.offset + k] = entry_of<T>(s, given, n, k);
}

// The data of an item: each Piece has the offset and the size of one source. Both numbers are constants in the text of
// a kernel, so that an item stays in registers.
template <int offset_, int size_> struct Piece { static constexpr int offset = offset_, size = size_; };
template <class... Pieces> struct Data {
  template <class T> static __device__ __forceinline__ void gather(const DeviceSource* sources, long long n, T* item) {
    (copy<Pieces>(*sources++, n, item), ...);
  }

 private:
  template <class Piece, class T>
  static __device__ __forceinline__ void copy(const DeviceSource& source, long long n, T* item) {
    KERNOPS_EACH_FEW(k, Piece::size) item[Piece::offset + k] = entry_of<T>(source, nullptr, n, k);
  }
};

// Fills the uniform level with all threads of one block.
template <class Formula> __device__ void fill_once(const FillJob& job, typename Formula::T* out) {
  const DeviceSource* sources = job.table ? job.table : job.sources;
  for (int s = job.levels[0].first_source; s < job.levels[0].end_source; ++s)
    gather(sources[s], job.given, 0, out, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) Formula::run_once(out);
  __syncthreads();
}

// Fills item n of the rows (level 1) or of the columns (level 2) with its input data, and with the values computed from
// the data.
template <class Formula, int level>
__device__ __forceinline__ void make_item(const DeviceSource* sources, int count, const typename Formula::T* once,
                                          long long n, typename Formula::T* out) {
  using T = typename Formula::T;
  constexpr int stride = padded<T>(level == 1 ? Formula::row : Formula::column);
  for (int s = 0; s < count; ++s) gather<stride >= long_item>(sources[s], nullptr, n, out, 0, 1);
  if constexpr (level == 1) Formula::run_row(once, out);
  if constexpr (level == 2) Formula::run_column(once, out);
}

// Each thread fills every t-th item, where t is the number of threads that fill this level.
template <class Formula, int level>
__device__ void fill_items(const FillJob& job, const typename Formula::T* once, unsigned block, unsigned of) {
  using T = typename Formula::T;
  constexpr int stride = padded<T>(level == 1 ? Formula::row : Formula::column);
  const FillJob::Level& to = job.levels[level];
  const DeviceSource* sources = (job.table ? job.table : job.sources) + to.first_source;
  const long long together = (long long)of * blockDim.x;
  for (long long n = block * (long long)blockDim.x + threadIdx.x; n < to.count; n += together)
    make_item<Formula, level>(sources, to.end_source - to.first_source, once, n, static_cast<T*>(to.out) + n * stride);
}

template <class Formula> __device__ void fill_levels(const FillJob& job) {
  using T = typename Formula::T;
  let_next_kernel_begin();
  wait_for_kernel_before();
  T* there = static_cast<T*>(job.levels[0].out);
  const T* once = there;
  if constexpr (Formula::once <= FillJob::most_own) {
    alignas(16) __shared__ T own[padded<T>(Formula::once)];
    fill_once<Formula>(job, own);
    if (blockIdx.x == 0)
      for (int k = threadIdx.x; k < Formula::once; k += blockDim.x) there[k] = own[k];
    once = own;
  }
  if (blockIdx.x < job.row_blocks)
    fill_items<Formula, 1>(job, once, blockIdx.x, job.row_blocks);
  else
    fill_items<Formula, 2>(job, once, blockIdx.x - job.row_blocks, gridDim.x - job.row_blocks);
}

// The entry points that fill the levels of a Formula.
#define KERNOPS_LEVELS(Formula)                                                           \
  extern "C" __global__ void kernops_once(const __grid_constant__ kernops::FillJob job) { \
    kernops::fill_once<Formula>(job, static_cast<Formula::T*>(job.levels[0].out));        \
  }                                                                                       \
  KERNOPS_KERNEL(kernops_fill, const __grid_constant__ kernops::FillJob, kernops::fill_levels<Formula>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
