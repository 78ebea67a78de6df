// The lists of candidate columns for the rows of a warp. A column with a small lower bound of its distance first joins
// a buffer of its row. When the buffer is full, its columns join the list of the row.
#pragma once
#include <kernops/cuda/wide/nearest_list.cuh>
#include <kernops/cuda/wide/nearest_points.cuh>
#include <kernops/cuda/wide/nearest_products.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The lists that a warp keeps for the columns of a split.
template <class Nearest> struct ListsOfWarp {
  using Bounds = BoundsOf<Nearest>;
  using List = NearestOfWarp<float, Nearest::listed>;
  static constexpr int waiting = nearest_waiting;

  // For each row: the limit that the bound of a candidate must not exceed, the squared length of the row's vector, and
  // the number of buffered columns.
  struct Shared {
    float limits[nearest_tile], squares[nearest_tile];
    int waiting[nearest_tile];
  };
  const NearestJob& job;
  Shared& shared;
  const int first_row;
  const float longest;
  float limits[4];      // negated limits of the thread's rows
  unsigned joined = 0;  // one bit per row, set if the list of the row is not empty

  __device__ __forceinline__ ListsOfWarp(const NearestJob& job, Shared& shared)
      : job(job), shared(shared), first_row(blockIdx.x * nearest_tile), longest(longest_column<Nearest>(job)) {
    const int row = threadIdx.x;
    shared.squares[row] = job.rows.bounds[first_row + row], shared.waiting[row] = 0;
    shared.limits[row] = first_row + row < job.rows.count ? infinity<float>() : -infinity<float>();
    read_limits();
  }
  // Returns the address of the list of a row. The buffer of the row follows the list in memory.
  __device__ __forceinline__ Neighbour* list(int row) const {
    return job.lists + ((first_row + row) * (long long)job.splits + blockIdx.y) * (Nearest::listed + waiting);
  }
  __device__ __forceinline__ void read_limits() {
    __syncwarp();
    KERNOPS_EACH(r, 4) limits[r] = -shared.limits[row_of_thread(r)];
  }
  // Returns the smallest limit of a row over all splits of the columns. Callers read this limit long before its use,
  // which hides the latency of the load.
  __device__ __forceinline__ unsigned limit_of_all() const {
    return job.splits > 1 ? *const_cast<volatile const unsigned*>(job.limits + first_row + threadIdx.x) : ~0u;
  }
  __device__ __forceinline__ void lower_limit(unsigned of_all) {
    if (job.splits == 1) return;
    const float known = in_order(of_all);
    if (known < shared.limits[threadIdx.x]) shared.limits[threadIdx.x] = known;
    read_limits();
  }

  // Adds the columns with small bounds to the buffers. The buffer of a row always has space for the 8 columns of one
  // group.
  template <int groups, class Products>
  __device__ __forceinline__ void take(const Products& products, int first_column) {
    unsigned near = 0;
    KERNOPS_EACH(n, groups) {
      bool any = false;
      KERNOPS_EACH(e, 8) any |= products.sum[e / 4][n][e % 4] > limits[e / 2];
      near |= any ? 1u << n : 0;
    }
    if (!__any_sync(~0u, near != 0)) return;
    KERNOPS_UNROLL_BY(1)
    for (near = of_all_lanes(near); near != 0; near &= near - 1) {
      const int group = __ffs(near) - 1;
      float less[8];
      products.of_group(group, less);
      KERNOPS_EACH(e, 8)
        if (less[e] > limits[e / 2])
          wait(row_of_thread(e / 2), {-less[e], first_column + Products::column(group, e % 2)});
      __syncwarp();
      if (__any_sync(~0u, shared.waiting[threadIdx.x] > waiting - 8)) join(waiting - 7);
    }
  }
  static __device__ __forceinline__ unsigned of_all_lanes(unsigned bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(~0u, bits);
#else
    KERNOPS_UNROLL
    for (int step = 16; step > 0; step /= 2) bits |= __shfl_xor_sync(~0u, bits, step);
    return bits;
#endif
  }
  __device__ __forceinline__ void wait(int row, const Neighbour& one) const {
    list(row)[Nearest::listed + atomicAdd(shared.waiting + row, 1)] = one;
  }

  // For each row with at least `least` buffered columns, merges these columns into the list of the row. After the last
  // tile, `least` is 0, so that no column stays in a buffer.
  __device__ __forceinline__ void join(int least) {
    __syncwarp();
    const bool joins = shared.waiting[threadIdx.x] >= least;
    KERNOPS_UNROLL_BY(1)
    for (unsigned rows = __ballot_sync(~0u, joins); rows != 0; rows &= rows - 1) join_list(__ffs(rows) - 1);
    read_limits();
  }
  __device__ __forceinline__ void join_list(int number) {
    const int row = threadIdx.x / 32 * 32 + number;
    Neighbour* const at = list(row);
    List now;
    if (joined >> number & 1)
      now.get(at);
    else
      now.clear();
    joined |= 1u << number;
    OfLane<float> some = OfLane<float>::none();
    if (lane_of_warp() < shared.waiting[row]) {
      const Neighbour own = at[Nearest::listed + lane_of_warp()];
      some = {own.number, own.column};
    }
    now.join(some);
    now.put(at);
    // a column joins only if its bound is below the last bound of the list, so columns with infinite bounds never join
    const float last = now.at(Nearest::listed - 1),
                wanted = Bounds::limit(now.at(Nearest::k - 1), shared.squares[row], longest);
    __syncwarp();
    if (lane_of_warp() > 0) return;
    const float limit = last < wanted ? last : wanted;
    if (limit < shared.limits[row]) shared.limits[row] = limit;
    shared.waiting[row] = 0;
    if (job.splits > 1) atomicMin(job.limits + first_row + row, bits_in_order(wanted));
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
