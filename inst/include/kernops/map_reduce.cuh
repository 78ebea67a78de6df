// The tiled map-reduce of the GPU, read by NVRTC and nvcc alike.
//
// The generated text (src/cuda_source.cpp) is a Formula: the number type, how many entries each place holds, and which
// operations run once, per row, per lane and per pair, names and order only. One thread owns R rows; a block shares
// tiles of lanes; the lanes may be split into chunks, whose states are merged in order: the same bits on every run.
#pragma once
#include <kernops/accumulate.cuh>
#include <kernops/device_job.h>


namespace kernops {
inline namespace KERNOPS_ISA {

// Items of a place stand `stride` numbers apart, a multiple of 16 bytes where they do not fit into less.
template <class T> KERNOPS_FN constexpr int padded(int entries) {
  return entries * sizeof(T) <= 4 ? entries : entries * sizeof(T) <= 8 ? 8 / sizeof(T) : (entries * sizeof(T) + 15) / 16 * 16 / sizeof(T);
}

template <class T> struct Quad;
template <> struct Quad<float> { using type = float4; static constexpr int size = 4; };
template <> struct Quad<double> { using type = double2; static constexpr int size = 2; };

// N numbers from an item, by 16-byte loads where its stride allows them.
template <int N, class T> __device__ __forceinline__ Vec<T, N> load(const T* from) {
  constexpr int stride = padded<T>(N), wide = Quad<T>::size;
  Vec<T, stride> all;
  if (stride % wide == 0) {
    KERNOPS_UNROLL
    for (int k = 0; k < stride; k += wide)
      *reinterpret_cast<typename Quad<T>::type*>(all.v + k) = *reinterpret_cast<const typename Quad<T>::type*>(from + k);
  } else {
    KERNOPS_UNROLL
    for (int k = 0; k < N; ++k) all.v[k] = from[k];
  }
  return part<0, N>(all);
}

template <class T> __device__ T source_value(const DeviceSource& s, int k, long long n) {
  const long long at = k * s.entry + n * s.item;
  switch (s.kind) {
    case DeviceSource::constant: return T(s.value);
    case DeviceSource::doubles: return T(static_cast<const double*>(s.data)[at]);
    case DeviceSource::floats: return T(static_cast<const float*>(s.data)[at]);
    default: return T(double(s.first + n + 1));
  }
}

// One thread an item: gathers what comes from outside and runs the steps of the place. Place: 0 once, 1 rows, 2 lanes.
template <class Formula, int place> __device__ void fill_place(const AxisJob& job) {
  using T = typename Formula::T;
  constexpr int entries = place == 0 ? Formula::once : place == 1 ? Formula::row : Formula::lane;
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n >= job.count) return;
  T* out = static_cast<T*>(job.out) + n * padded<T>(entries);
  for (int s = 0; s < job.source_count; ++s)
    for (int k = 0; k < job.sources[s].size; ++k) out[job.sources[s].offset + k] = source_value<T>(job.sources[s], k, n);
  const T* once_values = static_cast<const T*>(job.once);
  if constexpr (place == 0) Formula::run_once(out);
  if constexpr (place == 1) Formula::run_row(once_values, out);
  if constexpr (place == 2) Formula::run_lane(once_values, out);
}

// What a block knows of a row: the result, or a part of it.
template <class Row> __device__ void hand_over(const PairJob& job, long long row, Row& state) {
  if (job.chunks == 1) state.finish(job.out + row * job.out_row, job.out_entry, job.lane_count > 0);
  else static_cast<Row*>(job.partials)[(row - job.row_begin) * job.chunks + blockIdx.y] = state;
}

template <class Formula, class Row, int R, int threads> __device__ void map_reduce(const PairJob& job) {
  using T = typename Formula::T;
  constexpr int row_stride = padded<T>(Formula::row), lane_stride = padded<T>(Formula::lane), tile = threads;
  __shared__ alignas(16) T lanes[tile * lane_stride];

  const auto once_values = load<Formula::once>(static_cast<const T*>(job.once));
  const long long first = job.row_begin + blockIdx.x * (long long)(threads * R) + threadIdx.x;
  Vec<T, Formula::row> x[R];
  Row state[R];
  KERNOPS_UNROLL
  for (int r = 0; r < R; ++r) {
    const long long row = first + r * threads;
    x[r] = load<Formula::row>(static_cast<const T*>(job.rows) + (row < job.row_end ? row : job.row_begin) * row_stride);
    state[r].start();
  }

  const long long begin = blockIdx.y * job.chunk;
  const long long end = begin + job.chunk < job.lane_count ? begin + job.chunk : job.lane_count;
  for (long long lane = begin; lane < end; lane += tile) {
    const int count = end - lane < tile ? int(end - lane) : tile;
    const T* from = static_cast<const T*>(job.lanes) + lane * lane_stride;
    __syncthreads();
    for (int n = threadIdx.x; n < count * lane_stride; n += threads) lanes[n] = from[n];
    __syncthreads();

    constexpr int group = Row::group;
    const int whole = count / group * group;
    KERNOPS_UNROLL_BY(group > 1 ? 1 : sizeof(T) == 4 ? 8 : 4)
    for (int n = 0; n < whole; n += group) {
      Vec<T, Formula::lane> y[group];
      KERNOPS_UNROLL
      for (int u = 0; u < group; ++u) y[u] = load<Formula::lane>(lanes + (n + u) * lane_stride);
      KERNOPS_UNROLL
      for (int r = 0; r < R; ++r) {
        typename Formula::F f[group];
        typename Formula::W w[group];
        KERNOPS_UNROLL
        for (int u = 0; u < group; ++u) Formula::pair(once_values, x[r], y[u], f[u], w[u]);
        state[r].add(f, w, int(lane) + n, group);
      }
    }
    if (group > 1)
      for (int n = whole; n < count; ++n) {
        const auto y = load<Formula::lane>(lanes + n * lane_stride);
        KERNOPS_UNROLL
        for (int r = 0; r < R; ++r) {
          typename Formula::F f[1];
          typename Formula::W w[1];
          Formula::pair(once_values, x[r], y, f[0], w[0]);
          state[r].add(f, w, int(lane) + n, 1);
        }
      }
    KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) state[r].settle();
  }

  KERNOPS_UNROLL
  for (int r = 0; r < R; ++r) {
    const long long row = first + r * threads;
    if (row < job.row_end) hand_over(job, row, state[r]);
  }
}

// One thread a row: joins the chunks.
template <class Row> __device__ void merge_chunks(const PairJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x, row = job.row_begin + n;
  if (row >= job.row_end) return;
  const Row* partials = static_cast<const Row*>(job.partials) + n * job.chunks;
  Row state = partials[0];
  for (int chunk = 1; chunk < job.chunks; ++chunk) state.merge(partials[chunk]);
  state.finish(job.out + row * job.out_row, job.out_entry, job.lane_count > 0);
}

// The entry points of a Formula: what fills its places, and what reduces its pairs.
#define KERNOPS_PLACES(Formula)                                                                                    \
  extern "C" __global__ void kernops_once(kernops::AxisJob job) { kernops::fill_place<Formula, 0>(job); }          \
  extern "C" __global__ void kernops_rows(kernops::AxisJob job) { kernops::fill_place<Formula, 1>(job); }          \
  extern "C" __global__ void kernops_lanes(kernops::AxisJob job) { kernops::fill_place<Formula, 2>(job); }
#define KERNOPS_KERNELS(Formula, Row, R, threads)                                                                  \
  KERNOPS_PLACES(Formula)                                                                                          \
  extern "C" __global__ void __launch_bounds__(threads) kernops_pairs(kernops::PairJob job) {                      \
    kernops::map_reduce<Formula, Row, R, threads>(job);                                                            \
  }                                                                                                                \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_chunks<Row>(job); }              \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row);

}  // namespace KERNOPS_ISA
}  // namespace kernops
