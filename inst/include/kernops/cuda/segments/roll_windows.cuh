// Moving windows of any lengths. Each window is reduced separately, in time proportional to the logarithm of its
// length. The states of values form a binary tree: each node of level 0 stores the state of 8 values, and each node of
// a higher level joins two nodes. A window joins as few nodes as possible, from its first value to its last value.
// Therefore the order of values is kept, and a result does not depend on other windows.
#pragma once
#include <kernops/cuda/segments/roll_ranges.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Stores a result in the user's type.
template <class Result> struct Stored {
  using Type = Result;
  static __device__ __forceinline__ void put(Result* to, Result y) { *to = y; }
};
// Replaces a result that is NaN by NA if the window contains an NA. The operation Gaps computes `found`, which is not 0
// if the window contains an NA.
struct Marked {
  using Type = double;
  static __device__ __forceinline__ void put(double* to, double found) {
    if (found != 0 && *to != *to) *to = missing();
  }
};
struct Gaps {
  using State = int;
  static constexpr bool commutative = true, positions = false;
  template <class V> static KERNOPS_FN State lift(V x, long long) { return is_gap(x); }
  template <class V> static KERNOPS_FN State add(State s, V x, long long) { return s | is_gap(x); }
  static KERNOPS_FN State combine(State a, State b) { return a | b; }
  static KERNOPS_FN State stage(State s) { return s; }
  static KERNOPS_FN State result(State s, long long) { return s; }
  static KERNOPS_FN bool is_empty(State) { return false; }
};

// Returns the result of a window of `count` values with state s. `begin` is the number of the first value of the
// segment. If `by_count` is true, the result is a mean, so the sum in the state is divided by the count.
template <class Op, bool by_count>
__device__ __forceinline__ double roll_result(const RollRun& job, const typename Op::State& s, long long begin,
                                              int count) {
  if (Op::is_empty(s)) return job.nothing;
  const double y = double(Op::result(Op::stage(s), begin));
  return by_count ? y / count : y;
}

template <class Stored>
__device__ __forceinline__ typename Stored::Type* roll_place(const RollRun& job, int column, int n) {
  const long long m = job.run.first + n;
  return static_cast<typename Stored::Type*>(job.run.out) + column * job.run.out_column +
         (job.run.order ? (long long)job.run.order[m] : m);
}

template <class Op, class V, class Stored, bool by_count> struct RollWindows {
  using State = typename Op::State;

  static __device__ __forceinline__ const V* values(const RollRun& job, int column) {
    return static_cast<const V*>(job.x) + column * job.x_column + job.base;
  }
  static __device__ __forceinline__ State* nodes(const RollRun& job, int column) {
    return static_cast<State*>(job.nodes) + column * job.nodes_column;
  }
  static __device__ __forceinline__ long long number_of(const RollRun& job, int n) {
    return job.run.first + job.base + n;
  }

  // Computes the nodes of level 0; one thread per node.
  static __device__ __forceinline__ void leaves(const RollRun& job) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= job.values / roll_leaf) return;
    const V* const x = values(job, blockIdx.y) + (long long)node * roll_leaf;
    State s = Op::lift(x[0], number_of(job, node * roll_leaf));
    KERNOPS_UNROLL
    for (int k = 1; k < roll_leaf; ++k) s = Op::add(s, x[k], number_of(job, node * roll_leaf + k));
    nodes(job, blockIdx.y)[node] = s;
  }
  static __device__ __forceinline__ void pairs(const RollRun& job) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    State* below = nodes(job, blockIdx.y);
    int count = job.values / roll_leaf;
    for (int level = 1; level < job.level; ++level) below += count, count /= 2;
    if (node < count / 2) below[count + node] = Op::combine(below[2 * node], below[2 * node + 1]);
  }

  // Returns the state of the values `lo` .. `hi` - 1, numbered from position `job.base`, where x begins.
  static __device__ __forceinline__ State window(const RollRun& job, const V* x, const State* level_nodes, int lo,
                                                 int hi) {
    State s = Op::lift(x[lo], number_of(job, lo));
    const auto take = [&](int n) { s = Op::add(s, x[n], number_of(job, n)); };
    for (++lo; lo < hi && (lo % roll_leaf || job.levels == 0); ++lo) take(lo);
    int level = 0, size = roll_leaf, count = job.values / roll_leaf;
    while (lo + roll_leaf <= hi) {
      if (level + 1 < job.levels && lo % (2 * size) == 0 && lo + 2 * size <= hi) {
        level_nodes += count, count /= 2, size *= 2, ++level;
      } else if (lo + size <= hi) {
        s = Op::combine(s, level_nodes[lo / size]), lo += size;
      } else {
        size /= 2, --level, count = job.values / size, level_nodes -= count;
      }
    }
    for (; lo < hi; ++lo) take(lo);
    return s;
  }

  static __device__ __forceinline__ void roll(const RollRun& job) {
    const int column = blockIdx.y;
    each_window(job, [&](int n, int row, int from, int to, bool counts) {
      double y = job.incomplete;
      if (counts) {
        const State s = window(job, values(job, column), nodes(job, column), from - job.base, to - job.base);
        y = roll_result<Op, by_count>(job, s, Op::positions ? job.run.offsets[row] : 0, to - from);
      }
      Stored::put(roll_place<Stored>(job, column, n), typename Stored::Type(y));
    });
  }
};

// Copies values that are ordered by groups to contiguous memory, in the order of the segments.
template <class V> __device__ void roll_gather(const RollRun& job) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= job.run.plan.count) return;
  V* const to = static_cast<V*>(const_cast<void*>(job.x)) + blockIdx.y * job.x_column;
  to[n] = value_at<V>(job.run, blockIdx.y, job.run.order[job.run.first + n]);
}

// Sets *job.found to 1 if at least one value is NA.
template <class V> __device__ void roll_find_gap(const RollRun& job) {
  const V* const x = static_cast<const V*>(job.x) + blockIdx.y * job.x_column;
  for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < job.run.plan.count; n += gridDim.x * blockDim.x)
    if (is_gap(x[n])) *job.found = 1;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
