// The states of the whole chunks (VT consecutive values) that windows of one length contain (cuda/segments/roll.cuh),
// in a ring buffer. Neighbouring chunks form a group. The number of chunks in a group is the largest power of two that
// fits into a window, but at most 32, the size of a warp. A window joins the last chunks of one group, the whole groups
// that follow, and the first chunks of the next group. If a group has 32 chunks, the windows of a warp share whole
// groups, and the lanes of the warp cooperate to join the shared groups.
#pragma once
#include <kernops/cuda/segments/roll_windows.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Op> struct RollChunks {
  using State = typename Op::State;
  const RollRun& job;
  State* const early;  // for each thread: state of the group from its first chunk to the thread's chunk
  State* const late;   // for each place of the ring: the state of the group from this chunk to the last chunk
  int head = 0;        // place of the first thread's chunk in this step

  __device__ __forceinline__ RollChunks(const RollRun& job, void* memory)
      : job(job), early(static_cast<State*>(memory)), late(early + blockDim.x) {}

  // Moves to the next step.
  __device__ __forceinline__ void move() { head = place(int(blockDim.x)); }
  __device__ __forceinline__ int place(int n) const {
    const int to = head + n;
    return to < 0 ? to + job.places : to < job.places ? to : to - job.places;
  }
  // The state of a whole group; group 0 is the first group of this step.
  __device__ __forceinline__ const State& whole(int group) const { return late[place(group << job.group_bits)]; }

  // Stores two states for each thread: the thread's chunk joined with the earlier chunks of its group, and the chunk
  // joined with the later chunks of its group.
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

  // Returns the joined state of the `job.chunks` chunks before chunk n, the chunk of this thread.
  __device__ __forceinline__ State between(int n) const {
    const int first = n - job.chunks, begin = first >> job.group_bits, end = (n - 1) >> job.group_bits;
    State s = late[place(first)];
    if (begin == end) return s;
    if (job.chunks < 64) {
      for (int group = begin + 1; group < end; ++group) s = Op::combine(s, whole(group));
      return Op::combine(s, n > 0 ? early[n - 1] : whole(end));
    }
    // the windows of a warp begin in group second - 1 or `second`; the window of lane 0 ends with a whole group
    const int own = n >> 5, second = (((n & ~31) - job.chunks) >> 5) + 1;
    if (begin < second) s = Op::combine(s, whole(second));
    if (second + 1 < own) s = Op::combine(s, groups(second + 1, own));
    return lane_id() == 0 ? s : Op::combine(s, early[n - 1]);
  }

 private:
  // Joins the groups `begin` .. `end` - 1. All lanes of a warp must call this function.
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
