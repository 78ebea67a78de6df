// The states of chunks of values between the ends of windows of one length (cuda/segments/roll.cuh), in a ring.
// Neighbouring chunks are a group, as many as the largest power of two that a window contains, or the lanes of a warp.
// A window is joined from the last chunks of one group, the groups between, and the first chunks of another. Where
// groups are warps, the lanes of a warp join those between together.
#pragma once
#include <kernops/cuda/segments/roll_windows.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Op> struct RollChunks {
  using State = typename Op::State;
  const RollRun& job;
  State* const early;  // of each thread: the state of the group of its chunk up to the chunk
  State* const late;   // of each place of the ring: the state of the group from the chunk on
  int head = 0;        // the place of the first thread's chunk in this step

  __device__ __forceinline__ RollChunks(const RollRun& job, void* memory)
      : job(job), early(static_cast<State*>(memory)), late(early + blockDim.x) {}

  // To the next step.
  __device__ __forceinline__ void move() { head = place(int(blockDim.x)); }
  __device__ __forceinline__ int place(int n) const {
    const int to = head + n;
    return to < 0 ? to + job.places : to < job.places ? to : to - job.places;
  }
  // The state of a whole group, the first of which in this step is number 0.
  __device__ __forceinline__ const State& whole(int group) const { return late[place(group << job.group_bits)]; }

  // The chunk of each thread.
  __device__ __forceinline__ void put(int n, const State& chunk) {
    const int size = 1 << job.group_bits, lane = n & (size - 1);
    State s = chunk, t = chunk;
    for (int by = 1; by < size; by *= 2) {
      const State below = from_below(s, by), above = from_above(t, by);
      if (lane >= by) s = Op::combine(below, s);
      if (lane + by < size) t = Op::combine(t, above);
    }
    early[n] = s, late[place(n)] = t;
  }

  // The state of the chunks before number n, that of this thread.
  __device__ __forceinline__ State between(int n) const {
    const int first = n - job.chunks, begin = first >> job.group_bits, end = (n - 1) >> job.group_bits;
    State s = late[place(first)];
    if (begin == end) return s;
    if (job.chunks < 64) {
      for (int group = begin + 1; group < end; ++group) s = Op::combine(s, whole(group));
      return Op::combine(s, n > 0 ? early[n - 1] : whole(end));
    }
    // the chunks of a warp begin in the first of two groups, or in the second; those of lane 0 end with a whole group
    const int own = n >> 5, second = (((n & ~31) - job.chunks) >> 5) + 1;
    if (begin < second) s = Op::combine(s, whole(second));
    if (second + 1 < own) s = Op::combine(s, groups(second + 1, own));
    return lane_id() == 0 ? s : Op::combine(s, early[n - 1]);
  }

 private:
  // The state of groups begin .. end - 1, by all lanes of a warp.
  __device__ __forceinline__ State groups(int begin, int end) const {
    State all = State();
    for (int from = begin; from < end; from += 32) {
      const int count = end - from, lane = lane_id();
      State s = whole(lane < count ? from + lane : from);
      KERNOPS_UNROLL
      for (int by = 1; by < 32; by *= 2) {
        const State above = from_above(s, by);
        if (lane + by < count) s = Op::combine(s, above);
      }
      s = from_lane(s, 0);
      all = from == begin ? s : Op::combine(all, s);
    }
    return all;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
