// Teams of threads. A team computes the results of one segment.
#pragma once
#include <kernops/cuda/segments/sort_keys.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class N> __device__ __forceinline__ N from_lane(N x, int by) { return __shfl_xor_sync(all_lanes, x, by); }

// A team of one thread, a warp, or a block.
template <int threads> struct Team {
  static constexpr int across = threads < 32 ? threads : 32;
  static __device__ __forceinline__ int rank() { return threads == 1 ? 0 : threadIdx.x % threads; }
  static constexpr __device__ __forceinline__ int size() { return threads; }
  // Joins the values of all threads, in any order. Returns true in the thread that may use the joined value.
  template <class N, class Join> static __device__ __forceinline__ bool joined(N& mine, const N&, Join join) {
    KERNOPS_UNROLL
    for (int by = 1; by < across; by *= 2) mine = join(mine, from_lane(mine, by));
    if (threads <= 32) return rank() == 0;
    __shared__ N parts[threads > 32 ? threads / 32 : 1];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = parts[0];
    for (int n = 1; n < threads / 32; ++n) mine = join(mine, parts[n]);
    __syncthreads();
    return rank() == 0;
  }
  // True in the threads that run sequential loops over values: the first warp, or all threads of a smaller team.
  static __device__ __forceinline__ bool leads() { return threads <= 32 || threadIdx.x < 32; }
};

// The team of a long segment: all threads of the blocks with the same blockIdx.x.
struct Blocks {
  unsigned* finished;
  void* partials;
  static constexpr int across = 32;
  explicit __device__ __forceinline__ Blocks(const SortRun& job)
      : finished(job.finished + blockIdx.x),
        partials(static_cast<char*>(job.partials) + (long long)blockIdx.x * gridDim.y * partial_bytes) {}
  static __device__ __forceinline__ int rank() { return blockIdx.y * sort_threads + threadIdx.x; }
  static __device__ __forceinline__ int size() { return gridDim.y * sort_threads; }
  static __device__ __forceinline__ bool leads() { return blockIdx.y == 0 && threadIdx.x < 32; }

  // Joins the values of all blocks. The block that finishes last obtains the joined value. `nothing` is the neutral
  // element of `join`.
  template <class N, class Join> __device__ __forceinline__ bool joined(N& mine, const N& nothing, Join join) const {
    static_assert(sizeof(N) <= partial_bytes, "a block has this memory");
    Team<sort_threads>::joined(mine, nothing, join);
    __shared__ bool last;
    if (threadIdx.x == 0) {
      static_cast<N*>(partials)[blockIdx.y] = mine;
      __threadfence();
      last = atomicAdd(finished, 1u) + 1 == gridDim.y;
      __threadfence();
    }
    __syncthreads();
    if (!last) return false;
    mine = nothing;
    for (unsigned n = threadIdx.x; n < gridDim.y; n += sort_threads) mine = join(mine, stored<N>(n));
    return Team<sort_threads>::joined(mine, nothing, join);
  }

 private:
  // Reads through the L2 cache, because writes of other blocks do not update the L1 cache of this block.
  template <class N> __device__ __forceinline__ N stored(unsigned n) const {
    union Words {
      unsigned words[sizeof(N) / 4];
      N value;
      __device__ __forceinline__ Words() {}
    } all;
    const volatile unsigned* const from = static_cast<const volatile unsigned*>(partials) + n * (sizeof(N) / 4);
    KERNOPS_EACH(k, int(sizeof(N) / 4)) all.words[k] = from[k];
    return all.value;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
