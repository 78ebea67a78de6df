// Softmax over dimensions of an array on the GPU: the log-sum-exp of each slice (cuda/axes/reduce.cuh), followed by the
// share of each value in the sum of exponentials.
#pragma once
#include <kernops/cuda/axes/reduce.cuh>

namespace kernops {

template <class T> __device__ inline void put(const SliceJob& job, long long offset, double x) {
  if (job.out_floats)
    job.out_floats[offset] = float(x);
  else
    job.out[offset] = x;
}

__device__ inline double exponential(double x, double) { return exp(x); }
__device__ inline double exponential(double x, int) { return exp(x); }
__device__ inline double exponential(double x, float) { return exp(float(x)); }

// Computes the softmax of a whole slice or, after the states of all chunks of a slice have been joined, of one chunk.
template <class T, bool skip> __device__ void softmax_slices(const SliceJob& job) {
  using R = OnlineLogSumExp;
  __shared__ SliceState<R> shared[slice_threads];
  const Post post(job);
  if (job.chunks() == 1) {
    const SliceState<R> total = reduce_parts<R, T, skip>(shared, job, post);
    if (post.part == 0) shared[threadIdx.x] = total;
  } else if (!post.idle) {
    shared[post.first] = static_cast<SliceState<R>*>(job.partials)[post.result * job.chunks()];
  }
  __syncthreads();
  const double top = shared[post.first].v[0];
  double share = job.alpha / shared[post.first].v[1];
  if (top - top != 0) share = top - top;  // the shares are NaN if the largest value is infinite or NaN
  if (has_missing<T>(job, post, !post.idle && !skip && share != share)) share = missing();
  if (post.idle) return;
  walk<4, T>(
      job, post,
      [&](double x, long long offset, long long) {
        const bool left_out = skip && x != x;
        put<T>(job, offset, left_out ? x : share != share ? share : exponential(x - top, T()) * share);
      },
      [] {});
}

#define KERNOPS_AXIS_SOFTMAX(T, skip)                               \
  KERNOPS_AXIS_KERNEL(kernops_axis_reduce)(kernops::SliceJob job) { \
    kernops::reduce_slices<kernops::OnlineLogSumExp, T, skip>(job); \
  }                                                                 \
  KERNOPS_AXIS_KERNEL(kernops_axis_merge)(kernops::SliceJob job) {  \
    kernops::merge_slices<kernops::OnlineLogSumExp, false>(job);    \
  }                                                                 \
  KERNOPS_AXIS_KERNEL(kernops_axis_softmax)(kernops::SliceJob job) { kernops::softmax_slices<T, skip>(job); }

}  // namespace kernops
