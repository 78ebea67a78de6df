// The ring of values of windows of one length (cuda/segments/roll.cuh), and the parts of a step that the values of a
// thread make.
#pragma once
#include <kernops/cuda/segments/look_back.cuh>
#include <kernops/cuda/segments/roll_windows.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Late is Op for values that come from the last one to the first. VT is odd, so that the chunks of lanes start in
// different banks of shared memory.
template <class Op, class Late, class V, int VT> struct RollRing {
  using State = typename Op::State;
  using Part = ScanPart<Op>;
  using LatePart = ScanPart<Late>;
  const RollRun& job;
  V* const ring;
  const V* const x;
  const int room, chunk;  // values of the ring; the first value of the thread in a step
  int at = 0;             // where in the ring the first value of the step is
  unsigned cuts = 0;      // after which values of the thread a block of `width` values ends

  __device__ __forceinline__ RollRing(const RollRun& job, void* memory)
      : job(job),
        ring(static_cast<V*>(memory)),
        x(static_cast<const V*>(job.x) + blockIdx.y * job.x_column),
        room(job.width + job.step),
        chunk(int(threadIdx.x) * VT) {
    if (job.step <= job.width) return;
    for (int k = job.width - 1 - chunk % job.width; k < VT; k += job.width) cuts |= 1u << k;
  }

  static __device__ __forceinline__ unsigned first_bits(int n) {
    return n <= 0 ? 0 : n >= VT ? (1u << VT) - 1 : (1u << n) - 1;
  }
  __device__ __forceinline__ V value(int n) const { return x[n < job.run.plan.count ? n : job.run.plan.count - 1]; }
  // Value n of the step is at place(n); a chunk does not wrap, since the first VT values are there twice.
  __device__ __forceinline__ int place(int n) const { return at + n < room ? at + n : at + n - room; }
  __device__ __forceinline__ void put(int n, V v) {
    const int to = place(n);
    ring[to] = v;
    if (to < VT) ring[room + to] = v;
  }

  // Joins the parts of the lanes before this one in the order of the values or, where `down`, after it; `total` is
  // that of the warp.
  template <class O, bool down>
  static __device__ __forceinline__ ScanPart<O> beside(ScanPart<O> part, ScanPart<O>& total) {
    const auto moved = [](const ScanPart<O>& part, int by) {
      return shuffled(part, [=](unsigned word) {
        return down ? __shfl_down_sync(all_lanes, word, by) : __shfl_up_sync(all_lanes, word, by);
      });
    };
    const auto is_there = [](int by) { return down ? lane_id() + by < 32 : lane_id() >= by; };
    KERNOPS_UNROLL
    for (int by = 1; by < 32; by *= 2) {
      const ScanPart<O> other = moved(part, by);
      if (is_there(by)) part = join_parts(other, part);
    }
    if (lane_id() == (down ? 0 : 31)) total = part;
    const ScanPart<O> other = moved(part, 1);
    return is_there(1) ? other : no_part<O>();
  }

  // The part of the thread's values that go on to the next lane; `n` is the number of the step's first value, and
  // `from` that of the chunk in the step.
  __device__ __forceinline__ Part early_part(int n, int from) const {
    const int count = job.step - chunk;
    Part part = no_part<Op>();
    if (count <= 0) return part;
    const V* const v = ring + place(from + chunk);
    KERNOPS_EACH(k, VT) {
      const long long m = job.run.first + n + from + chunk + k;
      if (k < count) part.state = k == 0 || cuts >> (k - 1) & 1 ? Op::lift(v[k], m) : Op::add(part.state, v[k], m);
    }
    const unsigned mine = cuts & first_bits(count);
    part.has = !(mine >> ((count < VT ? count : VT) - 1) & 1), part.cut = mine != 0;
    return part;
  }

  // suffix[k]: from value k of the chunk to where its block, or the chunk, ends.
  __device__ __forceinline__ LatePart late_part(int n, State (&suffix)[VT]) const {
    const int count = (job.step <= job.width ? job.width - job.middles * job.step : job.step) - chunk;
    LatePart part = no_part<Late>();
    if (count <= 0) return part;
    const unsigned ends = cuts | ~first_bits((count < VT ? count : VT) - 1);
    const V* const v = ring + place(chunk);
    State s = State();
    KERNOPS_UNROLL
    for (int k = VT - 1; k >= 0; --k) {
      const long long m = job.run.first + n + chunk + k;
      s = ends >> k & 1 ? Op::lift(v[k], m) : Late::add(s, v[k], m);
      suffix[k] = s;
    }
    part.state = s, part.has = 1, part.cut = (cuts & first_bits(count)) != 0;
    return part;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
