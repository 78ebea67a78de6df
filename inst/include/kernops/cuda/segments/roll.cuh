// Windows of one length (van Herk 1992; Gil and Werman 1993): a window is joined from the last values of one block of
// values and the first values of a later one, so that no value is subtracted and the time does not depend on the width.
//
// A block of threads moves over the values in steps. The windows that begin at values i of a step are the parts S(i) of
// the step from i on, what is between, and the parts P(i) of the `step` values `width` further on that are before
// number i of them. A ring in shared memory holds width + step values, so that each value is read once.
//   step <= width: between are `middles` sums of earlier steps' values further on, and the few values that remain;
//   step > width:  a step holds several blocks of `width` values, at whose ends S and P are cut.
#pragma once
#include <kernops/cuda/dynamic_shared.cuh>
#include <kernops/cuda/segments/roll_ring.cuh>
#include <kernops/cuda/segments/scan.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Op, class Late, class V, class Stored, int VT, bool by_count>
struct RollTile : RollRing<Op, Late, V, VT> {
  using Ring = RollRing<Op, Late, V, VT>;
  using State = typename Op::State;
  using Part = ScanPart<Op>;
  using LatePart = ScanPart<Late>;
  using Result = typename Stored::Type;
  using Ring::chunk, Ring::cuts, Ring::job, Ring::ring, Ring::room, Ring::at;
  using Ring::early_part, Ring::first_bits, Ring::late_part, Ring::place, Ring::put, Ring::value;
  static constexpr int most_warps = most_roll_threads / 32;

  struct Shared {
    LatePart late[most_warps];
    Part early[most_warps];
    State middles[most_roll_middles];
  };
  Shared& shared;
  Result* const results;

  __device__ __forceinline__ RollTile(const RollRun& job, Shared& shared, double* memory)
      : Ring(job, reinterpret_cast<char*>(memory) + job.results_bytes),
        shared(shared),
        results(reinterpret_cast<Result*>(memory)) {}

  // The part of all values of a step.
  __device__ __forceinline__ Part total() const {
    Part all = shared.early[0];
    for (int n = 1; n < int(blockDim.x) / 32; ++n) all = join_parts(all, shared.early[n]);
    return all;
  }
  __device__ __forceinline__ void keep_middle(int step) {
    if (job.middles > 0 && threadIdx.x == 0) shared.middles[step % (job.middles + 1)] = total().state;
  }

  // Sums of the steps that the first windows have in their middle.
  __device__ __forceinline__ void begin(int n, int step) {
    for (int k = threadIdx.x; k < room; k += blockDim.x) put(k, value(n + k));
    for (int back = job.middles; back > 0; --back) {
      __syncthreads();
      Part part = early_part(n, job.width - back * job.step);
      Ring::template beside<Op, false>(part, shared.early[threadIdx.x / 32]);
      __syncthreads();
      keep_middle(step + job.middles + 1 - back);
    }
    __syncthreads();
  }

  // The part before the thread's values, further on: without cuts among its values, all from its last own value on.
  __device__ __forceinline__ Part join(const LatePart& late, const Part& early, int step) const {
    if (cuts) return early;
    Part part = no_part<Op>();
    part.state = late.state, part.has = late.has;
    for (int k = 1; k <= job.middles; ++k) {
      const State& middle = shared.middles[(step + k) % (job.middles + 1)];
      part.state = part.has ? Op::combine(part.state, middle) : middle, part.has = 1;
    }
    Part both = early;
    both.cut = 0;
    return join_parts(part, both);
  }

  __device__ __forceinline__ void write(int n, const State (&suffix)[VT], const LatePart& late, Part part) {
    const int count = job.step - chunk;
    if (count <= 0) return;
    const V* const v = ring + place(job.width + chunk);
    const int last_cut = 31 - __clz(cuts & first_bits(count));
    KERNOPS_EACH(k, VT) {
      const State s = part.has ? Op::combine(suffix[k], part.state) : suffix[k];
      const double y = roll_result<Op, by_count>(job, s, job.run.offsets[0], job.width);
      if (k < count) results[chunk + k] = Result(y);
      const long long m = job.run.first + n + job.width + chunk + k;
      part.state = part.has ? Op::add(part.state, v[k], m) : Op::lift(v[k], m), part.has = 1;
      if (cuts >> k & 1) {
        part.has = k == last_cut && late.has;
        if (part.has) part.state = late.state;
      }
    }
  }

  __device__ __forceinline__ void run() {
    const int windows = job.run.plan.count - job.width + 1, warps = blockDim.x / 32, warp = threadIdx.x / 32;
    int step = blockIdx.x * job.steps, n = step * job.step;
    if (n >= windows) return;
    begin(n, step);
    for (const int end = step + job.steps; step < end && n < windows; ++step, n += job.step) {
      V next[VT];
      KERNOPS_EACH(k, VT) next[k] = value(n + room + int(threadIdx.x) + k * int(blockDim.x));
      State suffix[VT];
      const LatePart mine = late_part(n, suffix);
      const Part early = Ring::template beside<Op, false>(early_part(n, job.width), shared.early[warp]);
      const LatePart late = Ring::template beside<Late, true>(mine, shared.late[warp]);
      __syncthreads();
      LatePart after = no_part<Late>();
      for (int k = warps - 1; k > warp; --k) after = join_parts(after, shared.late[k]);
      Part before = no_part<Op>();
      for (int k = 0; k < warp; ++k) before = join_parts(before, shared.early[k]);
      after = join_parts(after, late);
      write(n, suffix, after, join(after, join_parts(before, early), step));
      keep_middle(step + job.middles + 1);
      __syncthreads();
      for (int k = threadIdx.x; k < job.step && n + k < windows; k += blockDim.x)
        Stored::put(roll_place<Stored>(job, blockIdx.y, n + k + int(job.left)), results[k]);
      KERNOPS_EACH(k, VT) {
        const int to = int(threadIdx.x) + k * int(blockDim.x);
        if (to < job.step) put(to, next[k]);
      }
      at = place(job.step);
      __syncthreads();
    }
  }

  static __device__ __forceinline__ void roll(const RollRun& job) {
    KERNOPS_DYNAMIC_SHARED(memory);
    __shared__ Shared shared;
    RollTile(job, shared, memory).run();
  }
};

#define KERNOPS_ROLL(Op, Late, V, Stored, VT, by_count)                                                        \
  KERNOPS_KERNEL(kernops_roll_leaves, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::leaves) \
  KERNOPS_KERNEL(kernops_roll_pairs, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::pairs)   \
  KERNOPS_KERNEL(kernops_roll_windows, kernops::RollRun, kernops::RollWindows<Op, V, Stored, by_count>::roll)  \
  KERNOPS_KERNEL(kernops_roll_gather, kernops::RollRun, kernops::roll_gather<V>)                               \
  KERNOPS_KERNEL(kernops_roll_find_gap, kernops::RollRun, kernops::roll_find_gap<V>)                           \
  KERNOPS_KERNEL(__launch_bounds__(kernops::most_roll_threads) kernops_roll_steps, kernops::RollRun,           \
                 kernops::RollTile<Op, Late, V, Stored, VT, by_count>::roll)

}  // namespace KERNOPS_ISA
}  // namespace kernops
