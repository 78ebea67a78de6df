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

template <class T> KERNOPS_FN constexpr int padded(int entries) { return kernops::padded(entries, sizeof(T)); }

template <class T> struct Quad;
template <> struct Quad<float> { using type = float4; static constexpr int size = 4; };
template <> struct Quad<double> { using type = double2; static constexpr int size = 2; };

// N numbers from an item, by 16-byte loads where its stride allows them.
template <int N, class T> __device__ __forceinline__ Vec<T, N> load(const T* from) {
  constexpr int stride = padded<T>(N), wide = Quad<T>::size;
  alignas(16) Vec<T, stride> all;
  if (stride % wide == 0) {
    KERNOPS_UNROLL_FEW(stride)
    for (int k = 0; k < stride; k += wide)
      *reinterpret_cast<typename Quad<T>::type*>(all.v + k) = *reinterpret_cast<const typename Quad<T>::type*>(from + k);
  } else {
    KERNOPS_UNROLL_FEW(N)
    for (int k = 0; k < N; ++k) all.v[k] = from[k];
  }
  return part<0, N>(all);
}

template <class T> __device__ T source_value(const FillJob& job, const DeviceSource& s, int k, long long n) {
  const long long at = k * s.entry + n * s.item;
  switch (s.kind) {
    case DeviceSource::constant: return T(s.value);
    case DeviceSource::given: return T(job.given[s.first + k]);
    case DeviceSource::doubles: return T(static_cast<const double*>(s.data)[at]);
    case DeviceSource::floats: return T(static_cast<const float*>(s.data)[at]);
    default: return T(double(s.first + n + 1));
  }
}

// Gathers what comes from outside into item n of a place, every `step`th entry from k on.
template <class T> __device__ void gather_sources(const FillJob& job, int place, long long n, T* out, int first, int step) {
  for (int s = job.places[place].first_source; s < job.places[place].end_source; ++s) {
    const DeviceSource& source = job.table ? job.table[s] : job.sources[s];
    for (int k = first; k < source.size; k += step) out[source.offset + k] = source_value<T>(job, source, k, n);
  }
}

// What is there once, by all threads of a block.
template <class Formula> __device__ void fill_once(const FillJob& job, typename Formula::T* out) {
  gather_sources(job, 0, 0, out, threadIdx.x, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) Formula::run_once(out);
  __syncthreads();
}

// One thread an item, then the one as many items further as blocks `of` this place take. place: 1 rows, 2 lanes.
template <class Formula, int place>
__device__ void fill_items(const FillJob& job, const typename Formula::T* once, unsigned block, unsigned of) {
  using T = typename Formula::T;
  constexpr int stride = padded<T>(place == 1 ? Formula::row : Formula::lane);
  const long long together = (long long)of * blockDim.x;
  for (long long n = block * (long long)blockDim.x + threadIdx.x; n < job.places[place].count; n += together) {
    T* out = static_cast<T*>(job.places[place].out) + n * stride;
    gather_sources(job, place, n, out, 0, 1);
    if constexpr (place == 1) Formula::run_row(once, out);
    if constexpr (place == 2) Formula::run_lane(once, out);
  }
}

template <class Formula> __device__ void fill_places(const FillJob& job) {
  using T = typename Formula::T;
  T* there = static_cast<T*>(job.places[0].out);
  const T* once = there;
  if constexpr (Formula::once <= FillJob::most_own) {
    __shared__ alignas(16) T own[padded<T>(Formula::once)];
    fill_once<Formula>(job, own);
    if (blockIdx.x == 0)
      for (int k = threadIdx.x; k < Formula::once; k += blockDim.x) there[k] = own[k];
    once = own;
  }
  if (blockIdx.x < job.row_blocks) fill_items<Formula, 1>(job, once, blockIdx.x, job.row_blocks);
  else fill_items<Formula, 2>(job, once, blockIdx.x - job.row_blocks, gridDim.x - job.row_blocks);
}

template <class Row> __device__ void finish(const PairJob& job, long long row, Row& state) {
  state.finish(job.out + row * job.out_row, job.out_entry, job.any_lanes);
}

template <int n> struct Group { static constexpr int size = n; };

// What all terms of a row's sum have in common: it is taken out of the sum.
template <class Formula> __device__ typename Formula::T shared_factor(const PairJob& job, long long row) {
  using T = typename Formula::T;
  return static_cast<const T*>(job.rows)[row * padded<T>(Formula::row) + Formula::factor];
}

// What a block of threads reduces: the first of its rows, the end of them, and one run of lanes after another. Here,
// all pairs are there.
struct AllPairs {
  long long first, row_end, begin, end;

  __device__ AllPairs(const PairJob& job, int rows) {
    first = job.row_begin + blockIdx.x * (long long)rows, row_end = job.row_end;
    begin = job.lane_begin + blockIdx.y * job.chunk;
    end = begin + job.chunk < job.lane_end ? begin + job.chunk : job.lane_end;
  }
  __device__ bool any() const { return begin < end; }
  __device__ bool last() const { return true; }
  __device__ bool next() { return false; }
  template <class Row> __device__ void complete(Row&) const {}
};

// Here, the lanes of some intervals; a chunk counts them as if they stood side by side.
struct SomePairs {
  long long first, row_end, begin, end;
  const Interval* interval;
  long long number, end_number;  // of the lanes to come
  int first_lane;                // of the chunk, -1 where there is none

  __device__ SomePairs(const PairJob& job, int) : begin(0), end(0), first_lane(-1) {
    const RowBlock& block = job.blocks[blockIdx.x];
    first = block.begin, row_end = block.end;
    number = blockIdx.y * job.chunk;
    end_number = number + job.chunk < block.lanes ? number + job.chunk : block.lanes;
    if (number >= end_number) return;
    interval = find_interval(job.intervals, block, number);
    next();
    first_lane = int(begin);
  }
  __device__ bool next() {
    if (number >= end_number) return false;
    begin = interval->begin + number - interval->before;
    end = interval->end - begin < end_number - number ? interval->end : begin + end_number - number;
    number += end - begin;
    ++interval;
    return true;
  }
  __device__ bool any() const { return first_lane >= 0; }
  __device__ bool last() const { return number >= end_number; }
  template <class Row> __device__ void complete(Row& state) const {
    if (any()) state.adopt(first_lane);
  }
};

// What a block knows of a row: the result, or a part of it.
template <class Formula, class Row>
__device__ void hand_over(const PairJob& job, long long row, Row& state, bool any_lanes) {
  if constexpr (Formula::factor >= 0)
    if (any_lanes) state.scale(shared_factor<Formula>(job, row));
  if (!job.partials) finish(job, row, state);
  else static_cast<Row*>(job.partials)[blockIdx.y * job.partial_rows + row] = state;
}

// States that stand `stride` apart, joined in order.
template <class Row> __device__ Row merged(const Row* states, long long stride, int begin, int end, int step) {
  Row state = states[begin * stride];
  for (int chunk = begin + step; chunk < end; chunk += step) state.merge(states[chunk * stride]);
  return state;
}

// One thread joins the chunks of a row: into the result, or into one state where others are to join.
template <class Row> __device__ void merge_row(const PairJob& job, long long row, int step) {
  Row* states = static_cast<Row*>(job.partials) + row;
  Row state = merged(states, job.partial_rows, 0, job.chunks, step);
  if (job.out) finish(job, row, state);
  else *states = state;
}

// The block that is the last of its rows to hand over joins their chunks. The fences keep what others wrote before
// they arrived from being read out of date.
template <class Row> __device__ void merge_if_last(const PairJob& job, long long begin, long long end) {
  if (!job.arrivals) return;
  __threadfence();
  __syncthreads();
  int* arrivals = job.arrivals + blockIdx.x;
  if (!__syncthreads_or(threadIdx.x == 0 && atomicAdd(arrivals, 1) == job.chunks - 1)) return;
  __threadfence();
  if (threadIdx.x == 0) *arrivals = 0;  // for the next launch
  for (long long row = begin + threadIdx.x; row < end; row += blockDim.x) merge_row<Row>(job, row, 1);
}

// The rows of a thread meet the lanes of a tile.
template <class Pairs, class T, class O, class Row, int R>
__device__ __forceinline__ void meet(const O& o, const Vec<T, Pairs::row> (&x)[R], Row (&state)[R], const T* lanes,
                                     int lane_stride, int first, int count) {
  constexpr bool much = Pairs::work > 64;
  const auto some = [&](int n, auto group) {
    constexpr int copies = much ? 1 : group.size;
    Vec<T, Pairs::lane> y[group.size];
    KERNOPS_UNROLL_BY(copies)
    for (int u = 0; u < group.size; ++u) y[u] = load<Pairs::lane>(lanes + (n + u) * lane_stride);
    KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) {
      typename Pairs::F f[group.size];
      typename Pairs::W w[group.size];
      KERNOPS_UNROLL_BY(copies)
      for (int u = 0; u < group.size; ++u) Pairs::pair(o, x[r], y[u], f[u], w[u]);
      state[r].add(f, w, first + n, group.size);
    }
  };
  constexpr int group = Row::group, unrolled = group > 1 || much ? 1 : sizeof(T) == 4 ? 8 : 4;
  const int whole = count / group * group;
  KERNOPS_UNROLL_BY(unrolled)
  for (int n = 0; n < whole; n += group) some(n, Group<group>());
  if (group > 1)
    for (int n = whole; n < count; ++n) some(n, Group<1>());
}

template <class Formula, class Row, int R, int threads, class Share> __device__ void map_reduce(const PairJob& job) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  constexpr int row_stride = padded<T>(Formula::row), lane_stride = padded<T>(Formula::lane), tile = threads;
  __shared__ alignas(16) T lanes[tile * lane_stride];

  const auto once_values = load<Formula::kept_once>(static_cast<const T*>(job.once));
  Share share(job, threads * R);
  const long long first = share.first + threadIdx.x;
  const auto row_item = [&](int r) {
    const long long row = first + r * threads;
    return static_cast<const T*>(job.rows) + (row < share.row_end ? row : share.first) * row_stride;
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

  do {
    for (long long lane = share.begin; lane < share.end; lane += tile) {
      const int count = share.end - lane < tile ? int(share.end - lane) : tile;
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
  } while (share.next());

  KERNOPS_UNROLL
  for (int r = 0; r < R; ++r) {
    const long long row = first + r * threads;
    share.complete(state[r]);
    if (row < share.row_end) hand_over<Formula>(job, row, state[r], share.any());
  }
  const long long block_end = share.first + threads * R;
  merge_if_last<Row>(job, share.first, block_end < share.row_end ? block_end : share.row_end);
}

// Joins the chunks of a row: one thread a row, or a block where there are many; in order either way.
template <class Row> __device__ void merge_chunks(const PairJob& job) {
  const bool together = job.chunks > merged_by_one;
  const long long row = job.row_begin + (together ? blockIdx.x : blockIdx.x * (long long)blockDim.x + threadIdx.x);
  if (row >= job.row_end) return;
  Row* states = static_cast<Row*>(job.partials) + row;
  int step = 1;
  if (together) {
    step = (job.chunks + blockDim.x - 1) / blockDim.x;
    const int begin = threadIdx.x * step, end = begin + step < job.chunks ? begin + step : job.chunks;
    if (begin < job.chunks) states[begin * job.partial_rows] = merged(states, job.partial_rows, begin, end, 1);
    __syncthreads();
    if (threadIdx.x > 0) return;
  }
  merge_row<Row>(job, row, step);
}

// The entry points of a Formula: what fills its places, and what reduces its pairs.
#define KERNOPS_PLACES(Formula)                                                                                    \
  extern "C" __global__ void kernops_once(const __grid_constant__ kernops::FillJob job) {                          \
    kernops::fill_once<Formula>(job, static_cast<Formula::T*>(job.places[0].out));                                 \
  }                                                                                                                \
  extern "C" __global__ void kernops_fill(const __grid_constant__ kernops::FillJob job) {                          \
    kernops::fill_places<Formula>(job);                                                                            \
  }
#define KERNOPS_KERNELS(Formula, Row, R, threads, Share)                                                           \
  KERNOPS_PLACES(Formula)                                                                                          \
  extern "C" __global__ void __launch_bounds__(threads, Row::resident / threads)                                  \
      kernops_pairs(kernops::PairJob job) {                                                                        \
    kernops::map_reduce<Formula, Row, R, threads, Share>(job);                                                     \
  }                                                                                                                \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_chunks<Row>(job); }     \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row);

}  // namespace KERNOPS_ISA
}  // namespace kernops
