// Reductions over dimensions of an array on the GPU, read by NVRTC. A block has some results, and for each so
// many threads, its parts: neighbouring threads are parts of one result where a slice lies side by side in
// memory, else neighbouring results. Parts, and chunks of long slices, are joined in a fixed order: the same
// bits on every run.
#pragma once
#include <kernops/axis_job.h>
#include <kernops/missing.h>
#include <kernops/segment_reductions.h>

namespace kernops {

constexpr int slice_threads = 256;

template <class T> __device__ double as_double(T x) { return x; }
template <> __device__ inline double as_double(int x) { return x == -2147483647 - 1 ? missing() : x; }

template <class T> __device__ const T* values_of(const SliceJob& job);
template <> __device__ inline const double* values_of(const SliceJob& job) { return job.doubles; }
template <> __device__ inline const float* values_of(const SliceJob& job) { return job.floats; }
template <> __device__ inline const int* values_of(const SliceJob& job) { return job.integers; }

__device__ inline Spot spot(const Runs& runs, long long index) {
  Spot at{0, 0};
  for (int n = 0; n < runs.count && index > 0; ++n) {
    const long long step = index % runs.run[n].size;
    at.offset += step * runs.run[n].stride;
    at.number += step * runs.run[n].number;
    index /= runs.run[n].size;
  }
  return at;
}

// The place of a thread: which result of which chunk, and which part of it.
struct Post {
  int part, neighbour,
      first;  // of the same result: the next part is so many threads further, the first one is there
  long long result, begin, end;
  Spot base;
  bool idle;

  __device__ Post(const SliceJob& job) {
    const int t = threadIdx.x, results = slice_threads / job.parts;
    part = job.along ? t % job.parts : t / results;
    neighbour = job.along ? 1 : results;
    first = t - part * neighbour;
    result = blockIdx.x * (long long)results + (job.along ? t / job.parts : t % results);
    idle = result >= job.results;
    begin = blockIdx.y * job.chunk;
    end = begin + job.chunk < job.slice ? begin + job.chunk : job.slice;
    if (!idle) base = spot(job.kept, result);
  }
};

// body(offset, position) for this thread's share of its slice, `batch` values at a time; then pause().
template <int batch, class F, class G>
__device__ void walk(const SliceJob& job, const Post& post, F body, G pause) {
  const Run run = job.reduced.count ? job.reduced.run[0] : Run{1, 1, 1};
  const int parts = job.parts;
  for (long long begin = post.begin; begin < post.end;) {
    const long long left = run.size - begin % run.size;
    const long long count = left < post.end - begin ? left : post.end - begin;
    const Spot start = spot(job.reduced, begin);
    const auto each = [&](long long k) {
      body(post.base.offset + start.offset + k * run.stride, start.number + k * run.number);
    };
    long long k = post.part;
    for (; k + (batch - 1LL) * parts < count; k += (long long)batch * parts) {
      KERNOPS_UNROLL
      for (int n = 0; n < batch; ++n) each(k + (long long)n * parts);
      pause();
    }
    for (; k < count; k += parts) each(k);
    pause();
    begin += count;
  }
}

// A position is NaN where there is none.
template <class R> struct OfSlice : R {};
template <int sign> struct OfSlice<FirstExtreme<sign>> : FirstExtreme<sign> {
  template <class S> static __device__ double finish(const S& s, int n) {
    return s.j[0] == FirstExtreme<sign>::nowhere ? not_a_number<double>() : FirstExtreme<sign>::finish(s, n);
  }
};

template <class R> using SliceState = State<R, double, long long>;

// Joins the parts of each result, pairwise; the first one has it.
template <class R>
__device__ void join_parts(SliceState<R>* shared, const SliceState<R>& mine, int part, int parts,
                           int neighbour) {
  shared[threadIdx.x] = mine;
  for (int half = parts / 2; half > 0; half /= 2) {
    __syncthreads();
    if (part < half) R::merge(shared[threadIdx.x], shared[threadIdx.x + half * neighbour]);
  }
  __syncthreads();
}

template <class R> __device__ void finish(const SliceJob& job, const Spot& at, const SliceState<R>& state) {
  for (int n = 0; n < R::outputs; ++n) job.out[at.number * R::outputs + n] = R::finish(state, n);
}

template <class R, class T, bool skip>
__device__ SliceState<R> reduce_part(const SliceJob& job, const Post& post) {
  SliceState<R> s;
  R::start(s);
  if (post.idle) return s;
  const T* values = values_of<T>(job);
  walk<8>(
      job, post,
      [&](long long offset, long long position) {
        const double x = as_double(values[offset]);
        if (!skip || x == x) R::add(s, x, position);
      },
      [&] { R::settle(s); });
  return s;
}

template <class R, class T, bool skip> __device__ void reduce_slices(const SliceJob& job) {
  __shared__ SliceState<R> shared[slice_threads];
  const Post post(job);
  join_parts<R>(shared, reduce_part<R, T, skip>(job, post), post.part, job.parts, post.neighbour);
  if (post.idle || post.part > 0) return;
  if (job.chunks() == 1)
    finish<R>(job, post.base, shared[threadIdx.x]);
  else
    static_cast<SliceState<R>*>(job.partials)[post.result * job.chunks() + blockIdx.y] = shared[threadIdx.x];
}

// Block n joins the chunks of result n, into the first one, and gives the result unless they are for softmax.
template <class R, bool gives> __device__ void merge_slices(const SliceJob& job) {
  __shared__ SliceState<R> shared[slice_threads];
  for (long long result = blockIdx.x; result < job.results; result += gridDim.x) {
    SliceState<R>* states = static_cast<SliceState<R>*>(job.partials) + result * job.chunks();
    SliceState<R> s;
    R::start(s);
    for (long long chunk = threadIdx.x; chunk < job.chunks(); chunk += slice_threads)
      R::merge(s, states[chunk]);
    join_parts<R>(shared, s, threadIdx.x, slice_threads, 1);
    if (threadIdx.x == 0) {
      states[0] = shared[0];
      if (gives) finish<R>(job, spot(job.kept, result), shared[0]);
    }
    __syncthreads();
  }
}

// Whether the slice of this thread holds NA, where `asked`. All threads of a block call it.
template <class T> __device__ bool has_missing(const SliceJob& job, Post post, bool asked) {
  __shared__ int found[slice_threads];
  found[threadIdx.x] = 0;
  __syncthreads();
  post.begin = 0, post.end = job.slice;
  const T* values = values_of<T>(job);
  if (asked)
    walk<1>(
        job, post,
        [&](long long offset, long long) {
          if (is_missing(as_double(values[offset]))) found[post.first] = 1;
        },
        [] {});
  __syncthreads();
  return found[post.first];
}

// Where a result is NaN and its slice holds NA, it becomes NA.
template <class T> __device__ void mark_missing(const SliceJob& job, int outputs) {
  const Post post(job);
  double* out = post.idle ? nullptr : job.out + post.base.number * outputs;
  bool asked = false;
  for (int n = 0; n < outputs && !post.idle; ++n) asked = asked || out[n] != out[n];
  const bool found = has_missing<T>(job, post, asked);
  if (post.part == 0 && found)
    for (int n = 0; n < outputs; ++n)
      if (out[n] != out[n]) out[n] = missing();
}

template <class T> __device__ inline void put(const SliceJob& job, long long offset, double x) {
  if (job.out_floats)
    job.out_floats[offset] = float(x);
  else
    job.out[offset] = x;
}

__device__ inline double exponential(double x, double) { return exp(x); }
__device__ inline double exponential(double x, int) { return exp(x); }
__device__ inline double exponential(double x, float) { return exp(float(x)); }

// A chunk of slices that is all of them, or one whose states have been joined.
template <class T, bool skip> __device__ void softmax_slices(const SliceJob& job) {
  using R = OnlineLogSumExp;
  __shared__ SliceState<R> shared[slice_threads];
  const Post post(job);
  if (job.chunks() == 1) {
    join_parts<R>(shared, reduce_part<R, T, skip>(job, post), post.part, job.parts, post.neighbour);
  } else if (!post.idle) {
    shared[post.first] = static_cast<SliceState<R>*>(job.partials)[post.result * job.chunks()];
  }
  __syncthreads();
  const double top = shared[post.first].v[0];
  double share = job.alpha / shared[post.first].v[1];
  if (top - top != 0) share = top - top;  // infinite: no shares of it
  if (has_missing<T>(job, post, !post.idle && !skip && share != share)) share = missing();
  if (post.idle) return;
  const T* values = values_of<T>(job);
  walk<4>(
      job, post,
      [&](long long offset, long long) {
        const double x = as_double(values[offset]);
        const bool left_out = skip && x != x;
        put<T>(job, offset, left_out ? x : share != share ? share : exponential(x - top, T()) * share);
      },
      [] {});
}

// The entry points, for values of type T.
#define KERNOPS_AXIS_KERNEL(name) extern "C" __global__ void __launch_bounds__(kernops::slice_threads) name
#define KERNOPS_AXIS(R, T, skip)                                        \
  KERNOPS_AXIS_KERNEL(kernops_axis_reduce)(kernops::SliceJob job) {     \
    kernops::reduce_slices<kernops::OfSlice<kernops::R>, T, skip>(job); \
  }                                                                     \
  KERNOPS_AXIS_KERNEL(kernops_axis_merge)(kernops::SliceJob job) {      \
    kernops::merge_slices<kernops::OfSlice<kernops::R>, true>(job);     \
  }                                                                     \
  KERNOPS_AXIS_KERNEL(kernops_axis_missing)(kernops::SliceJob job) {    \
    kernops::mark_missing<T>(job, kernops::R::outputs);                 \
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
