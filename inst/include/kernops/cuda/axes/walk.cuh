// Maps the threads of a block to the slices of an array: the result that a thread contributes to, and the values of its
// part.
#pragma once
#include <kernops/jobs/axes.h>
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

// The result, the chunk and the part of a thread.
struct Post {
  int part, neighbour,
      first;  // distance between threads of the same result; the first of these threads
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

// Calls body(offset, position) for the thread's values of its slice, `batch` values at a time, then pause().
template <int batch, class F, class G> __device__ void walk(const SliceJob& job, const Post& post, F body, G pause) {
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
      KERNOPS_EACH(n, batch) each(k + (long long)n * parts);
      pause();
    }
    for (; k < count; k += parts) each(k);
    pause();
    begin += count;
  }
}

}  // namespace kernops
