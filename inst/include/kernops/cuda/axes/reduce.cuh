// Reductions over dimensions of an array on the GPU; NVRTC compiles this file. A slice contains the values of one
// result. A block computes several results, and several threads compute the parts of each result. If slices are
// contiguous in memory, neighbouring threads share one result; if not, neighbouring threads compute neighbouring
// results. Parts, and chunks of long slices, are joined in a fixed order, so every run returns the same bits.
#pragma once
#include <kernops/cuda/axes/walk.cuh>

namespace kernops {

// The reduction R of a slice. If the result is a position, such as the position of the minimum, the result is NaN for a
// slice without valid values.
template <class R> struct OfSlice : R {};
template <int sign> struct OfSlice<FirstExtreme<sign>> : FirstExtreme<sign> {
  template <class S> static __device__ double finish(const S& s, int n) {
    return s.j[0] == FirstExtreme<sign>::nowhere ? not_a_number<double>() : FirstExtreme<sign>::finish(s, n);
  }
};

template <class R> using SliceState = State<R, double, long long>;

// Joins the states of all parts of a result. The thread of the first part receives the joined state.
template <class R>
__device__ SliceState<R> join_states(SliceState<R>* shared, const SliceState<R>& mine, int part, int parts,
                                     int neighbour) {
  const auto merge = [](SliceState<R>& s, const SliceState<R>& next) { R::merge(s, next); };
  return join_parts(shared, mine, part, parts, neighbour, merge);
}

template <class R> __device__ void finish(const SliceJob& job, const Spot& at, const SliceState<R>& state) {
  for (int n = 0; n < R::outputs; ++n) job.out[at.number * R::outputs + n] = R::finish(state, n);
}

template <class R, class T, bool skip> __device__ SliceState<R> reduce_part(const SliceJob& job, const Post& post) {
  SliceState<R> s;
  R::start(s);
  if (post.idle) return s;
  walk<64 / sizeof(T), T>(
      job, post,
      [&](double x, long long, long long position) {
        if (!skip || x == x) R::add(s, x, position);
      },
      [&] { R::settle(s); });
  return s;
}

// Returns the state of a slice, or of a chunk of a slice, to the thread of the first part.
template <class R, class T, bool skip>
__device__ SliceState<R> reduce_parts(SliceState<R>* shared, const SliceJob& job, const Post& post) {
  return join_states<R>(shared, reduce_part<R, T, skip>(job, post), post.part, job.parts, post.neighbour);
}

template <class R, class T, bool skip> __device__ void reduce_slices(const SliceJob& job) {
  __shared__ SliceState<R> shared[slice_threads];
  const Post post(job);
  const SliceState<R> s = reduce_parts<R, T, skip>(shared, job, post);
  if (post.idle || post.part > 0) return;
  if (job.chunks() == 1)
    finish<R>(job, post.base, s);
  else
    static_cast<SliceState<R>*>(job.partials)[post.result * job.chunks() + blockIdx.y] = s;
}

// Block n joins the states of all chunks of result n, and stores the joined state as the state of the first chunk.
// If `gives` is true (no softmax follows), also writes the result.
template <class R, bool gives> __device__ void merge_slices(const SliceJob& job) {
  __shared__ SliceState<R> shared[slice_threads];
  for (long long result = blockIdx.x; result < job.results; result += gridDim.x) {
    SliceState<R>* states = static_cast<SliceState<R>*>(job.partials) + result * job.chunks();
    SliceState<R> s;
    R::start(s);
    for (long long chunk = threadIdx.x; chunk < job.chunks(); chunk += slice_threads) R::merge(s, states[chunk]);
    s = join_states<R>(shared, s, threadIdx.x, slice_threads, 1);
    if (threadIdx.x == 0) {
      states[0] = s;
      if (gives) finish<R>(job, spot(job.kept, result), s);
    }
    __syncthreads();
  }
}

// Returns whether the slice of this thread contains NA. If `asked` is false, the values are not read, and the result is
// false. All threads of a block must call this function.
template <class T> __device__ bool has_missing(const SliceJob& job, Post post, bool asked) {
  __shared__ int found[slice_threads];
  found[threadIdx.x] = 0;
  __syncthreads();
  post.begin = 0, post.end = job.slice;
  if (asked)
    walk<1, T>(
        job, post,
        [&](double x, long long, long long) {
          if (is_missing(x)) found[post.first] = 1;
        },
        [] {});
  __syncthreads();
  return found[post.first];
}

// Replaces a result that is NaN by NA if the slice contains NA.
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

}  // namespace kernops
