// Folds each slice of an array (a slice contains the values of one result) by an associative formula; NVRTC compiles
// this file. The formula need not be commutative: a thread folds consecutive values. The parts of the threads, and the
// chunks of long slices, are joined in order.
#pragma once
#include <kernops/cuda/axes/reduce.cuh>

namespace kernops {

struct FoldState {
  double value;
  int any;  // true once a value has been joined
};

template <class F> __device__ FoldState join_folds(FoldState a, FoldState b) {
  if (!b.any) return a;
  if (!a.any) return b;
  return {F::join(a.value, b.value), 1};
}

template <class F>
__device__ FoldState fold_parts(FoldState* shared, FoldState mine, int part, int parts, int neighbour) {
  const auto merge = [](FoldState& s, const FoldState& next) { s = join_folds<F>(s, next); };
  return join_parts(shared, mine, part, parts, neighbour, merge);
}

template <class F, class T, bool skip> struct SliceFold {
  static constexpr int each = 64 / sizeof(T);  // values that a lane folds at a time
  using Room = Turn<T, each>;
  const SliceJob& job;
  const Post& post;
  FoldState* shared;
  T* rooms;  // memory to transpose values, for each warp of a block

  __device__ T number(long long k) const {
    const long long offset = job.reduced.count == 1 ? k * job.reduced.run[0].stride : spot(job.reduced, k).offset;
    return values_of<T>(job)[post.base.offset + offset];
  }
  static __device__ void append(FoldState& s, double x) {
    if (!skip || x == x) s = join_folds<F>(s, {x, 1});
  }

  // Returns the fold of the thread's part of a slice that is not contiguous in memory. Adjacent threads compute
  // adjacent results, and each thread folds its own part of a slice.
  __device__ FoldState across() const {
    constexpr int batch = 8;
    const long long share = (post.end - post.begin + job.parts - 1) / job.parts;
    long long k = post.begin + post.part * share;
    const long long end = k + share < post.end ? k + share : post.end;
    FoldState s{0, 0};
    for (; k + batch <= end; k += batch) {
      T x[batch];
      KERNOPS_EACH(n, batch) x[n] = number(k + n);
      KERNOPS_EACH(n, batch) append(s, as_double(x[n]));
    }
    for (; k < end; ++k) append(s, as_double(number(k)));
    return fold_parts<F>(shared, s, post.part, job.parts, post.neighbour);
  }

  // Returns the fold of the values of all lanes; only the first lane receives the result. The values of a lane are
  // consecutive.
  template <int lanes> static __device__ FoldState fold_tile(const T (&x)[each], int lane) {
    FoldState s{as_double(x[0]), 1};
    if constexpr (skip) {
      s.any = s.value == s.value;
      KERNOPS_EACH(n, each - 1) append(s, as_double(x[n + 1]));
      return fold_parts<F>(nullptr, s, lane, lanes, 1);
    } else {
      KERNOPS_EACH(n, each - 1) s.value = F::join(s.value, as_double(x[n + 1]));
      KERNOPS_UNROLL
      for (int by = 1; by < lanes; by *= 2) s.value = F::join(s.value, from_above(s.value, by));
      return s;
    }
  }

  // The fold of the values from position k to `end`. These values are too few for a tile (`each` values per lane), or
  // lie in several contiguous runs (job.reduced).
  template <int lanes> __device__ FoldState fold_rest(T* room, long long k, long long end, int lane) const {
    __syncwarp();
    KERNOPS_UNROLL_BY(1)
    for (int v = lane; v < lanes * each; v += lanes)
      if (k + v < end) room[Room::place(v)] = number(k + v);
    __syncwarp();
    FoldState s{0, 0};
    KERNOPS_UNROLL_BY(1)
    for (int v = lane * each; v < (lane + 1) * each && k + v < end; ++v) append(s, as_double(room[Room::place(v)]));
    return fold_parts<F>(nullptr, s, lane, lanes, 1);
  }

  // The fold of a contiguous slice, which adjacent threads share. A warp loads adjacent values of a tile, and
  // transposes these values in shared memory, so that each lane folds consecutive values. While the warp folds a tile,
  // the next tile is loaded.
  template <int lanes> __device__ FoldState along() const {
    constexpr int tile = lanes * each;
    const int lane = post.part % lanes, warp = post.part / lanes, warps = job.parts / lanes;
    T* const room = rooms + threadIdx.x / 32 * Room::room + (lane_id() - lane) * (each + Room::gap);
    const long long share = ((post.end - post.begin + warps - 1) / warps + 31) / 32 * 32;
    long long k = post.begin + warp * share;
    const long long end = k + share < post.end ? k + share : post.end;
    const T* from = values_of<T>(job) + post.base.offset + k + lane;
    FoldState all{0, 0};
    T next[each], mine[each];
    const auto load = [&] {
      KERNOPS_EACH(n, each) next[n] = from[n * lanes];
    };
    int tiles = job.reduced.count == 1 && k < end ? int((end - k) / tile) : 0;
    if (tiles > 0) load();
    for (; tiles > 0; --tiles, k += tile) {
      __syncwarp();
      KERNOPS_EACH(n, each) room[Room::place(n * lanes + lane)] = next[n];
      __syncwarp();
      Room::own(mine, room, lane);
      from += tile;
      if (tiles > 1) load();
      all = join_folds<F>(all, fold_tile<lanes>(mine, lane));
    }
    for (; k < end; k += tile) all = join_folds<F>(all, fold_rest<lanes>(room, k, end, lane));
    return fold_parts<F>(shared, all, warp, warps, lanes);
  }

  __device__ FoldState operator()() const {
    if (!job.along) return across();
    return job.parts >= 32 ? along<32>() : job.parts == 16 ? along<16>() : job.parts == 8 ? along<8>() : along<4>();
  }
};

__device__ inline void give_fold(const SliceJob& job, const Spot& at, const FoldState& state) {
  job.out[at.number] = state.any ? state.value : job.empty;
}

template <class F, class T, bool skip> __device__ void fold_slices(const SliceJob& job) {
  __shared__ FoldState shared[slice_threads];
  const Post post(job);
  __shared__ alignas(16) T rooms[slice_threads / 32 * SliceFold<F, T, skip>::Room::room];
  const SliceFold<F, T, skip> fold{job, post, shared, rooms};
  const FoldState s = fold();
  if (post.idle || post.part > 0) return;
  if (job.chunks() == 1)
    give_fold(job, post.base, s);
  else
    static_cast<FoldState*>(job.partials)[post.result * job.chunks() + blockIdx.y] = s;
}

// Block n joins the states of all chunks of the slice that gives result n.
template <class F> __device__ void merge_folds(const SliceJob& job) {
  __shared__ FoldState shared[slice_threads];
  const long long chunks = job.chunks(), share = (chunks + slice_threads - 1) / slice_threads;
  for (long long result = blockIdx.x; result < job.results; result += gridDim.x) {
    const FoldState* states = static_cast<const FoldState*>(job.partials) + result * chunks;
    FoldState s{0, 0};
    for (long long n = threadIdx.x * share; n < (threadIdx.x + 1) * share && n < chunks; ++n)
      s = join_folds<F>(s, states[n]);
    s = fold_parts<F>(shared, s, threadIdx.x, slice_threads, 1);
    if (threadIdx.x == 0) give_fold(job, spot(job.kept, result), s);
  }
}

// The register count is limited so that three blocks fit on a multiprocessor.
#define KERNOPS_AXIS_FOLD(F, T, skip)                                                                                  \
  extern "C" __global__ void __launch_bounds__(kernops::slice_threads, 3) kernops_axis_reduce(kernops::SliceJob job) { \
    kernops::fold_slices<F, T, skip>(job);                                                                             \
  }                                                                                                                    \
  KERNOPS_AXIS_KERNEL(kernops_axis_merge)(kernops::SliceJob job) { kernops::merge_folds<F>(job); }                     \
  KERNOPS_AXIS_KERNEL(kernops_axis_missing)(kernops::SliceJob job) { kernops::mark_missing<T>(job, 1); }

}  // namespace kernops
