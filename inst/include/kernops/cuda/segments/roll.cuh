// Moving windows that all have the same length (van Herk 1992; Gil and Werman 1993). The values are divided into
// chunks. A window is joined from the last values of one chunk, whole chunks, and the first values of another chunk. No
// value is subtracted, and the time hardly depends on the width.
//
// A block moves over the values in steps; in each step every thread owns one chunk of VT values. A window that
// begins in a thread's chunk is joined from
//   the window's values in this chunk, and the next `rest` values;
//   `chunks` whole chunks, each of which begins `width` values after the chunk of an earlier thread;
//   the first values of the chunk that begins `width` values after the thread's own chunk.
// Shared memory has two ring buffers. The first buffer holds width + step values, so that each value is read from
// global memory only once. The second buffer holds the states of chunks.
#pragma once
#include <kernops/cuda/dynamic_shared.cuh>
#include <kernops/cuda/segments/roll_chunks.cuh>
#include <kernops/cuda/segments/scan.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The computation of a block. Late is the operation Op for values that are added in reverse order. VT is odd, so that
// the chunks of lanes begin in different banks of shared memory.
template <class Op, class Late, class V, class Stored, int VT, bool by_count> struct RollTile {
  using State = typename Op::State;
  using Result = typename Stored::Type;
  const RollRun& job;
  Result* const results;
  RollChunks<Op> states;
  V* const ring;
  const V* const x;
  const int room, chunk;  // room: number of values in the ring; chunk: index of the thread's first value in the step
  int head = 0;           // ring position of the first value of the step

  __device__ __forceinline__ RollTile(const RollRun& job, double* memory)
      : job(job),
        results(reinterpret_cast<Result*>(memory)),
        states(job, reinterpret_cast<char*>(memory) + job.results_bytes),
        ring(reinterpret_cast<V*>(reinterpret_cast<char*>(memory) + job.results_bytes + job.states_bytes)),
        x(static_cast<const V*>(job.x) + blockIdx.y * job.x_column),
        room(job.width + job.step),
        chunk(int(threadIdx.x) * VT) {}

  __device__ __forceinline__ V value(int n) const { return x[n < job.run.plan.count ? n : job.run.plan.count - 1]; }
  __device__ __forceinline__ void fetch(int n, V (&next)[VT]) const {
    const int across = blockDim.x;
    if (n + VT * across <= job.run.plan.count) {
      const V* const from = x + n;
      KERNOPS_EACH(k, VT) next[k] = from[k * across];
    } else {
      KERNOPS_EACH(k, VT) next[k] = value(n + k * across);
    }
  }
  // Value n of the step is at position place(n) of the ring. The first values of the ring are stored again after its
  // end, so that contiguous reads of a thread do not wrap.
  __device__ __forceinline__ int place(int n) const { return head + n < room ? head + n : head + n - room; }
  __device__ __forceinline__ void put(int n, V v) {
    const int to = place(n);
    ring[to] = v;
    if (to < 2 * VT) ring[room + to] = v;
  }

  // Returns the state of VT values, beginning with value n of the step. `first` is the index of value n among all
  // values.
  __device__ __forceinline__ State chunk_at(int n, long long first) const {
    const V* const v = ring + place(n);
    State s = Op::lift(v[0], first);
    KERNOPS_UNROLL
    for (int k = 1; k < VT; ++k) s = Op::add(s, v[k], first + k);
    return s;
  }

  // Computes suffix[k], which is the state of the values from value k of the chunk to the end of the `rest` values
  // after the chunk.
  __device__ __forceinline__ void join_late(long long first, State (&suffix)[VT]) const {
    const V* const v = ring + place(chunk);
    int k = VT - 1 + job.rest;
    State s = Op::lift(v[k], first + k);
    for (--k; k >= VT - 1; --k) s = Late::add(s, v[k], first + k);
    suffix[VT - 1] = s;
    KERNOPS_UNROLL
    for (int k = VT - 2; k >= 0; --k) suffix[k] = s = Late::add(s, v[k], first + k);
  }

  // Computes the result of each window that begins in the thread's chunk: joins the suffix, the whole chunks that
  // follow, and the first values of the last chunk.
  __device__ __forceinline__ void write(long long first, const State (&suffix)[VT]) const {
    const V* const v = ring + place(job.width + chunk);
    bool has = job.chunks > 0;
    State between = State();
    if (has) between = states.between(threadIdx.x);
    KERNOPS_EACH(k, VT) {
      const State s = has ? Op::combine(suffix[k], between) : suffix[k];
      results[chunk + k] = Result(roll_result<Op, by_count>(job, s, job.run.offsets[0], job.width));
      const long long m = first + job.width + k;
      between = has ? Op::add(between, v[k], m) : Op::lift(v[k], m), has = true;
    }
  }

  // Writes the results of a step whose first window is n; `count` windows remain.
  __device__ __forceinline__ void give(int n, int count) const {
    const int centre = n + int(job.left);
    if (job.run.order) {
      for (int k = threadIdx.x; k < job.step && k < count; k += blockDim.x)
        Stored::put(roll_place<Stored>(job, blockIdx.y, centre + k), results[k]);
      return;
    }
    Result* const to = roll_place<Stored>(job, blockIdx.y, centre);
    KERNOPS_EACH(k, VT) {
      const int i = int(threadIdx.x) + k * int(blockDim.x);
      if (i < count) Stored::put(to + i, results[i]);
    }
  }

  // Loads the values of the first step, and computes the states of the whole chunks in the windows of this step.
  __device__ __forceinline__ void begin(int n) {
    for (int k = threadIdx.x; k < room; k += blockDim.x) put(k, value(n + k));
    __syncthreads();
    const int earlier = (job.chunks + int(blockDim.x) - 1) / int(blockDim.x);
    for (int back = earlier; back > 0; --back) {
      const int from = job.width + chunk - back * job.step, known = from > 0 ? from : 0;
      states.put(threadIdx.x, chunk_at(known, job.run.first + n + known));
      states.move();
      __syncthreads();  // the next put() may overwrite values that this step reads
    }
  }

  __device__ __forceinline__ void run() {
    const int windows = job.run.plan.count - job.width + 1;
    int step = blockIdx.x * job.steps, n = step * job.step;
    if (n >= windows) return;
    begin(n);
    for (const int end = step + job.steps; step < end && n < windows; ++step, n += job.step) {
      V next[VT];
      fetch(n + room + int(threadIdx.x), next);
      const long long first = job.run.first + n + chunk;
      if (job.chunks > 0) states.put(threadIdx.x, chunk_at(job.width + chunk, first + job.width));
      State suffix[VT];
      join_late(first, suffix);
      __syncthreads();
      write(first, suffix);
      __syncthreads();
      states.move();
      give(n, windows - n);
      KERNOPS_EACH(k, VT) put(int(threadIdx.x) + k * int(blockDim.x), next[k]);
      head = place(job.step);
      __syncthreads();
    }
  }

  static __device__ __forceinline__ void roll(const RollRun& job) {
    KERNOPS_DYNAMIC_SHARED(memory);
    RollTile(job, memory).run();
  }
};

#define KERNOPS_ROLL(Op, Late, V, Stored, VT, by_count)                                                           \
  KERNOPS_KERNEL(kernops_roll_leaves, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::leaves)    \
  KERNOPS_KERNEL(kernops_roll_pairs, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::pairs)      \
  KERNOPS_KERNEL(kernops_roll_windows, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::roll)     \
  KERNOPS_KERNEL(kernops_roll_gather, kernops::RollRun, kernops::roll_gather<V>)                                  \
  KERNOPS_KERNEL(kernops_roll_find_gap, kernops::RollRun, kernops::roll_find_gap<V>)                              \
  KERNOPS_KERNEL(__launch_bounds__(kernops::most_roll_threads, sizeof(Op::State) > 8 ? 1 : 4) kernops_roll_steps, \
                 kernops::RollRun, kernops::RollTile<Op, Late, V, Stored, VT, by_count>::roll)

}  // namespace KERNOPS_ISA
}  // namespace kernops
