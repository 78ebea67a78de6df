// Maps the threads of a block to the slices of an array: computes which result a thread contributes to, and which
// values of the slice the thread reads.
#pragma once
#include <kernops/jobs/axes.h>
#include <kernops/missing.h>
#include <kernops/cuda/lanes.cuh>
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
    const bool last = n + 1 == runs.count;  // avoids a division, which is slow
    const long long step = last ? index : index % runs.run[n].size;
    at.offset += step * runs.run[n].stride;
    at.number += step * runs.run[n].number;
    index = last ? 0 : index / runs.run[n].size;
  }
  return at;
}

// The result, the chunk and the part of a thread. Idle threads (threads without a result) may read the values of the
// last result.
struct Post {
  int part, neighbour,
      first;  // neighbour: distance between adjacent threads of one result; first: the first of these threads
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
    base = spot(job.kept, idle ? job.results - 1 : result);
  }
};

// Calls body(value, offset, position) for each value that the thread reads, and pause() after each batch of values. A
// thread first loads a batch, and then calls body() for its values.
template <int batch, class T, class F, class G>
__device__ void walk(const SliceJob& job, const Post& post, F body, G pause) {
  const T* const values = values_of<T>(job);
  const Run run = job.reduced.count ? job.reduced.run[0] : Run{1, 1, 1};
  const int parts = job.parts;
  for (long long begin = post.begin; begin < post.end;) {
    const long long left = run.size - (begin < run.size ? begin : begin % run.size);
    const long long count = left < post.end - begin ? left : post.end - begin;
    const Spot start = spot(job.reduced, begin);
    const auto offset = [&](long long k) { return post.base.offset + start.offset + k * run.stride; };
    const auto each = [&](T x, long long k) { body(as_double(x), offset(k), start.number + k * run.number); };
    long long k = post.part;
    for (; k + (batch - 1LL) * parts < count; k += (long long)batch * parts) {
      T x[batch];
      KERNOPS_EACH(n, batch) x[n] = values[offset(k + (long long)n * parts)];
      KERNOPS_EACH(n, batch) each(x[n], k + (long long)n * parts);
      pause();
    }
    T x[batch];
    KERNOPS_EACH(n, batch) x[n] = k + (long long)n * parts < count ? values[offset(k + (long long)n * parts)] : T(0);
    KERNOPS_EACH(n, batch)
      if (k + (long long)n * parts < count) each(x[n], k + (long long)n * parts);
    pause();
    begin += count;
  }
}

// Joins each part of a result with the next part, then each pair of parts with the next pair, and so on. If the parts
// of a result are adjacent lanes of a warp, the parts are joined by shuffles, and otherwise in `shared` memory. The
// thread of the first part receives the joined state. All threads of a block must call this function.
template <class State, class Merge>
__device__ State join_parts(State* shared, State mine, int part, int parts, int neighbour, Merge merge) {
  int joined = 1;
  for (; neighbour == 1 && joined < parts && joined < 32; joined *= 2) {
    const State next = from_above(mine, joined);
    if (part % (2 * joined) == 0) merge(mine, next);
  }
  if (joined == parts) return mine;
  shared[threadIdx.x] = mine;
  for (; joined < parts; joined *= 2) {
    __syncthreads();
    if (part % (2 * joined) == 0) merge(shared[threadIdx.x], shared[threadIdx.x + joined * neighbour]);
  }
  __syncthreads();
  return shared[threadIdx.x];
}

}  // namespace kernops
