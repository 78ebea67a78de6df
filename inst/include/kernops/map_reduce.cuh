// The tiled map-reduce of the GPU, read by NVRTC and nvcc alike.
//
// The generated text (src/cuda_source.cpp) is a Formula: the number type, how many entries each place holds, and which
// operations run once, per row, per lane and per pair, names and order only; where exponents may be expanded, the pairs
// have a second way, Near, with the norms first in the items (src/expansion.cpp). One thread owns R rows; a block shares
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
  for (int s = 0; s < job.source_count; ++s) {
    const DeviceSource& source = job.table ? job.table[s] : job.sources[s];
    for (int k = 0; k < source.size; ++k) out[source.offset + k] = source_value<T>(source, k, n);
  }
  const T* once_values = static_cast<const T*>(job.once);
  if constexpr (place == 0) Formula::run_once(out);
  if constexpr (place == 1) Formula::run_row(once_values, out);
  if constexpr (place == 2) Formula::run_lane(once_values, out);
}

template <int n> struct Group { static constexpr int size = n; };

// Writes a result of a row, which may have a factor that all terms of its sum share.
template <class Formula, class Row> __device__ void write(const PairJob& job, long long row, int entry, Row& state) {
  double* out = job.out + row * job.out_row + entry * job.out_entry;
  state.finish(out, job.out_entry, job.lane_count > 0);
  if constexpr (Formula::factor >= 0) {
    using T = typename Formula::T;
    if (job.lane_count == 0) return;
    const T factor = static_cast<const T*>(job.rows)[row * padded<T>(Formula::row) + Formula::factor];
    KERNOPS_UNROLL
    for (int k = 0; k < Row::entries; ++k) out[k * job.out_entry] *= factor;
  }
}

// What a block knows of a row: the result, or a part of it.
template <class Formula, class Row> __device__ void hand_over(const PairJob& job, long long row, Row& state) {
  if (job.chunks == 1) write<Formula>(job, row, 0, state);
  else static_cast<Row*>(job.partials)[(row - job.row_begin) * job.chunks + blockIdx.y] = state;
}

// The rows of a thread meet the lanes of a tile.
template <class Pairs, class T, class O, class Row, int R>
__device__ __forceinline__ void meet(const O& o, const Vec<T, Pairs::row> (&x)[R], Row (&state)[R], const T* lanes,
                                     int lane_stride, int first, int count) {
  const auto some = [&](int n, auto group) {
    Vec<T, Pairs::lane> y[group.size];
    KERNOPS_UNROLL
    for (int u = 0; u < group.size; ++u) y[u] = load<Pairs::lane>(lanes + (n + u) * lane_stride);
    KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) {
      typename Pairs::F f[group.size];
      typename Pairs::W w[group.size];
      KERNOPS_UNROLL
      for (int u = 0; u < group.size; ++u) Pairs::pair(o, x[r], y[u], f[u], w[u]);
      state[r].add(f, w, first + n, group.size);
    }
  };
  constexpr int group = Row::group, unrolled = group > 1 ? 1 : sizeof(T) == 4 ? 8 : 4;
  const int whole = count / group * group;
  KERNOPS_UNROLL_BY(unrolled)
  for (int n = 0; n < whole; n += group) some(n, Group<group>());
  if (group > 1)
    for (int n = whole; n < count; ++n) some(n, Group<1>());
}

template <class Formula, class Row, int R, int threads> __device__ void map_reduce(const PairJob& job) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  constexpr int row_stride = padded<T>(Formula::row), lane_stride = padded<T>(Formula::lane), tile = threads;
  __shared__ alignas(16) T lanes[tile * lane_stride];

  const auto once_values = load<Formula::kept_once>(static_cast<const T*>(job.once));
  const long long first = job.row_begin + blockIdx.x * (long long)(threads * R) + threadIdx.x;
  const auto row_item = [&](int r) {
    const long long row = first + r * threads;
    return static_cast<const T*>(job.rows) + (row < job.row_end ? row : job.row_begin) * row_stride;
  };
  Vec<T, Near::row> x[R];
  Row state[R];
  bool rows_near = true;
  KERNOPS_UNROLL
  for (int r = 0; r < R; ++r) {
    x[r] = load<Near::row>(row_item(r));
    rows_near = rows_near && is_near(x[r].v[0]);
    state[r].start();
  }

  const long long begin = blockIdx.y * job.chunk;
  const long long end = begin + job.chunk < job.lane_count ? begin + job.chunk : job.lane_count;
  for (long long lane = begin; lane < end; lane += tile) {
    const int count = end - lane < tile ? int(end - lane) : tile;
    const T* from = static_cast<const T*>(job.lanes) + lane * lane_stride;
    bool near = rows_near;
    __syncthreads();
    for (int n = threadIdx.x; n < count * lane_stride; n += threads) {
      lanes[n] = from[n];
      if (Formula::expands && n % lane_stride == 0) near = near && is_near(lanes[n]);
    }
    if (__syncthreads_and(near || !Formula::expands)) {
      meet<Near>(once_values, x, state, lanes, lane_stride, int(lane), count);
    } else if constexpr (Formula::expands) {
      Vec<T, Formula::row> exact[R];
      KERNOPS_UNROLL
      for (int r = 0; r < R; ++r) exact[r] = load<Formula::row>(row_item(r));
      meet<Formula>(once_values, exact, state, lanes, lane_stride, int(lane), count);
    }
    KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) state[r].settle();
  }

  KERNOPS_UNROLL
  for (int r = 0; r < R; ++r) {
    const long long row = first + r * threads;
    if (row < job.row_end) hand_over<Formula>(job, row, state[r]);
  }
}

template <class Row> __device__ Row merged(const Row* partials, int begin, int end, int step) {
  Row state = partials[begin];
  for (int chunk = begin + step; chunk < end; chunk += step) state.merge(partials[chunk]);
  return state;
}

// Joins the chunks of a row: one thread a row, or a block where there are many; in order either way.
template <class Formula, class Row> __device__ void merge_chunks(const PairJob& job) {
  const bool together = job.chunks > merged_by_one;
  const long long n = together ? blockIdx.x : blockIdx.x * (long long)blockDim.x + threadIdx.x;
  const long long row = job.row_begin + n;
  if (row >= job.row_end) return;
  Row* partials = static_cast<Row*>(job.partials) + n * job.chunks;
  int step = 1;
  if (together) {
    step = (job.chunks + blockDim.x - 1) / blockDim.x;
    const int begin = threadIdx.x * step, end = begin + step < job.chunks ? begin + step : job.chunks;
    if (begin < job.chunks) partials[begin] = merged(partials, begin, end, 1);
    __syncthreads();
    if (threadIdx.x > 0) return;
  }
  Row state = merged(partials, 0, job.chunks, step);
  write<Formula>(job, row, 0, state);
}

// The entry points of a Formula: what fills its places, and what reduces its pairs.
#define KERNOPS_PLACES(Formula)                                                                                    \
  extern "C" __global__ void kernops_once(kernops::AxisJob job) { kernops::fill_place<Formula, 0>(job); }          \
  extern "C" __global__ void kernops_rows(kernops::AxisJob job) { kernops::fill_place<Formula, 1>(job); }          \
  extern "C" __global__ void kernops_lanes(kernops::AxisJob job) { kernops::fill_place<Formula, 2>(job); }
#define KERNOPS_KERNELS(Formula, Row, R, threads)                                                                  \
  KERNOPS_PLACES(Formula)                                                                                          \
  extern "C" __global__ void __launch_bounds__(threads, Row::resident / threads)                                  \
      kernops_pairs(kernops::PairJob job) {                                                                        \
    kernops::map_reduce<Formula, Row, R, threads>(job);                                                            \
  }                                                                                                                \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_chunks<Formula, Row>(job); }     \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row);

}  // namespace KERNOPS_ISA
}  // namespace kernops
