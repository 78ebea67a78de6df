// Folds of the slices of an array by an associative formula, read by NVRTC. The formula need not be commutative: a
// thread folds consecutive values, and parts and chunks are joined in order.
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

// Joins each part of a result with its neighbour, then pairs of parts, and so on; the first part receives the total.
template <class F>
__device__ FoldState fold_parts(FoldState* shared, FoldState mine, int part, int parts, int neighbour) {
  __syncthreads();
  shared[threadIdx.x] = mine;
  for (int step = 1; step < parts; step *= 2) {
    __syncthreads();
    FoldState& state = shared[threadIdx.x];
    if (part % (2 * step) == 0) state = join_folds<F>(state, shared[threadIdx.x + step * neighbour]);
  }
  __syncthreads();
  return shared[threadIdx.x];
}

template <class F, class T, bool skip> struct SliceFold {
  const SliceJob& job;
  const Post& post;
  FoldState* shared;

  __device__ double value(long long k) const {
    const bool one_run = job.reduced.count == 1;
    const long long offset = one_run ? k * job.reduced.run[0].stride : spot(job.reduced, k).offset;
    return as_double(values_of<T>(job)[post.base.offset + offset]);
  }
  static __device__ void append(FoldState& s, double x) {
    if (!skip || x == x) s = join_folds<F>(s, {x, 1});
  }

  // Adjacent threads compute adjacent results: each thread reads its part of the slice.
  __device__ FoldState across() const {
    constexpr int batch = 8;
    const long long share = (post.end - post.begin + job.parts - 1) / job.parts;
    long long k = post.begin + post.part * share;
    const long long end = k + share < post.end ? k + share : post.end;
    FoldState s{0, 0};
    for (; !post.idle && k + batch <= end; k += batch) {
      double x[batch];
      KERNOPS_EACH(n, batch) x[n] = value(k + n);
      KERNOPS_EACH(n, batch) append(s, x[n]);
    }
    for (; !post.idle && k < end; ++k) append(s, value(k));
    return fold_parts<F>(shared, s, post.part, job.parts, post.neighbour);
  }

  // Adjacent threads share one slice: together they read adjacent values into shared memory, and each thread then takes
  // consecutive values. One free slot after the values of each thread avoids bank conflicts.
  __device__ FoldState along() const {
    constexpr int each = 16;
    __shared__ double stage[slice_threads * (each + 1)];
    double* const mine = stage + post.first * (each + 1);
    FoldState all{0, 0};
    for (long long tile = post.begin; tile < post.end; tile += job.parts * each) {
      __syncthreads();
      for (int n = 0; n < each; ++n) {
        const int v = n * job.parts + post.part;
        if (!post.idle && tile + v < post.end) mine[v + v / each] = value(tile + v);
      }
      __syncthreads();
      FoldState s{0, 0};
      for (int n = 0; n < each; ++n)
        if (!post.idle && tile + post.part * each + n < post.end) append(s, mine[post.part * (each + 1) + n]);
      all = join_folds<F>(all, fold_parts<F>(shared, s, post.part, job.parts, post.neighbour));
    }
    return all;
  }
};

__device__ inline void give_fold(const SliceJob& job, const Spot& at, const FoldState& state) {
  job.out[at.number] = state.any ? state.value : job.empty;
}

template <class F, class T, bool skip> __device__ void fold_slices(const SliceJob& job) {
  __shared__ FoldState shared[slice_threads];
  const Post post(job);
  const SliceFold<F, T, skip> fold{job, post, shared};
  const FoldState s = job.along ? fold.along() : fold.across();
  if (post.idle || post.part > 0) return;
  if (job.chunks() == 1)
    give_fold(job, post.base, s);
  else
    static_cast<FoldState*>(job.partials)[post.result * job.chunks() + blockIdx.y] = s;
}

// Block n joins the chunks of result n.
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

#define KERNOPS_AXIS_FOLD(F, T, skip)                                                                        \
  KERNOPS_AXIS_KERNEL(kernops_axis_reduce)(kernops::SliceJob job) { kernops::fold_slices<F, T, skip>(job); } \
  KERNOPS_AXIS_KERNEL(kernops_axis_merge)(kernops::SliceJob job) { kernops::merge_folds<F>(job); }           \
  KERNOPS_AXIS_KERNEL(kernops_axis_missing)(kernops::SliceJob job) { kernops::mark_missing<T>(job, 1); }

}  // namespace kernops
