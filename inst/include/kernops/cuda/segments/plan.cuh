// Kernels that compute the plan of segments (jobs/device_segments.h), from the offsets of the segments or from the keys
// of the values. The plan describes where segments end, for each tile (the values of one block).
#pragma once
#include <kernops/jobs/device_segments.h>
#include <kernops/cuda/segments/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Stores the number of segments that end before each tile edge; one thread per tile edge.
template <int size> __device__ void plan_limits(const OffsetsJob& job) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile > job.plan.tiles) return;
  const long long edge = job.first + (long long)tile * size;
  int low = 0, high = job.segments;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (job.offsets[middle + 1] <= edge)
      low = middle + 1;
    else
      high = middle;
  }
  job.plan.limits[tile] = low;
}

// Stores one bit for each value of a tile; the bit is 1 if a segment ends with the value. One block per tile.
template <int size> __device__ void plan_ends(const OffsetsJob& job) {
  __shared__ unsigned bits[size / 32];
  const int tile = blockIdx.x, end = job.plan.limits[tile + 1];
  for (int n = threadIdx.x; n < size / 32; n += blockDim.x) bits[n] = 0;
  __syncthreads();
  for (int s = job.plan.limits[tile] + threadIdx.x; s < end; s += blockDim.x) {
    const int at = int(job.offsets[s + 1] - 1 - job.first - (long long)tile * size);
    atomicOr(&bits[at / 32], 1u << at % 32);
  }
  __syncthreads();
  for (int n = threadIdx.x; n < size / 32; n += blockDim.x) job.plan.ends[tile * (size / 32) + n] = bits[n];
}

// Stores, for each tile edge, the index of the first carry (partial state of a tile) that belongs to the segment which
// continues across this edge. One thread per tile edge.
template <int size> __device__ void plan_opens(const SegmentPlan& plan) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile > plan.tiles) return;
  const int row = plan.limits[tile];
  int low = 0, high = tile;  // finds the first edge before which as many segments end as before this edge
  if (tile > 0 && plan.limits[tile - 1] < row) low = tile;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (plan.limits[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  plan.opens[tile] = low > 0 && ends_at(plan, low * size - 1) ? low + 1 : low;
}

// Combines the bits of all lanes into words; each lane has the bits of `quad` neighbouring values.
template <int quad> __device__ __forceinline__ unsigned word_of(unsigned some) {
  unsigned word = some << lane_id() * quad % 32;
  KERNOPS_UNROLL
  for (int by = 1; by < 32 / quad; by *= 2) word |= __shfl_xor_sync(all_lanes, word, by);
  return word;
}

// Returns whether two keys differ; two NaN keys are equal.
template <class Key> __device__ __forceinline__ bool differ(Key a, Key b) { return a != b && (a == a || b == b); }

// Stores one bit for each key of a tile, which is 1 if a run ends with the key, and the number of runs that end in the
// tile. One block per tile.
template <class Key, int VT, int warps> __device__ void plan_keys(const KeysJob& job) {
  constexpr int across = 32 * VT, size = warps * across, quad = Contiguous<Key>::quad, loads = VT / quad;
  __shared__ int counts[warps];
  const int warp = threadIdx.x / 32, lane = lane_id(), tile = blockIdx.x, first = tile * size + warp * across;
  const int last = job.plan.count - 1, beyond = first + across;

  SegmentRun source{};
  source.x = job.keys, source.plan = job.plan;
  typename Contiguous<Key>::template Fetch<VT> keys;
  if (first <= last) keys.load(source, 0, 0, first);
  const Key next = static_cast<const Key*>(job.keys)[beyond <= last || job.goes_on ? beyond : last];

  int mine = 0;
  KERNOPS_EACH(l, loads) {
    const Key* v = keys.v + l * quad;
    const Key in_lane = __shfl_down_sync(all_lanes, v[0], 1);
    const Key in_load = l + 1 < loads ? __shfl_sync(all_lanes, keys.v[(l + 1) % loads * quad], 0) : next;
    unsigned ends = unsigned(differ(v[quad - 1], lane < 31 ? in_lane : in_load)) << (quad - 1);
    KERNOPS_UNROLL
    for (int e = 0; e + 1 < quad; ++e) ends |= unsigned(differ(v[e], v[e + 1])) << e;
    const int at = first + keys.position(l * quad);
    if (at + quad > last && !job.goes_on) {  // the last key ends a run, and later bits are 0
      const int left = last - at;
      ends = left < 0 ? 0 : (ends & ((1u << left) - 1)) | 1u << left;
    }
    mine += __popc(ends);
    const unsigned word = word_of<quad>(ends);
    if (lane % (32 / quad) == 0) job.plan.ends[at / 32] = word;
  }
  mine += sum_below(mine);
  if (lane == 31) counts[warp] = mine;
  __syncthreads();
  if (threadIdx.x > 0) return;
  int all = 0;
  for (int n = 0; n < warps; ++n) all += counts[n];
  job.plan.limits[tile] = all;
}

// Replaces the count of each tile by the sum of the counts of all earlier tiles; one block.
template <int threads> __device__ void plan_scan(const SegmentPlan& plan) {
  constexpr int warps = threads / 32;
  __shared__ int sums[32];
  const int each = (plan.tiles + threads - 1) / threads * 32, begin = threadIdx.x / 32 * each;
  const auto number = [&](int n) { return n < plan.tiles ? plan.limits[n] : 0; };
  int sum = 0;
  KERNOPS_UNROLL_BY(16)
  for (int n = begin; n < begin + each; n += 32) sum += number(n + lane_id());
  sum = __shfl_sync(all_lanes, sum_below(sum) + sum, 31);
  if (lane_id() == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  const int theirs = lane_id() < warps ? sums[lane_id()] : 0;
  int before = __shfl_sync(all_lanes, sum_below(theirs), threadIdx.x / 32);
  constexpr int together = 8;  // number of loads in flight
  for (int n = begin; n < begin + each; n += 32 * together) {
    int mine[together], below[together];
    KERNOPS_EACH(k, together) {
      mine[k] = n + 32 * k < begin + each ? number(n + 32 * k + lane_id()) : 0;
      below[k] = sum_below(mine[k]);
    }
    KERNOPS_EACH(k, together) {
      const int at = n + 32 * k + lane_id();
      if (n + 32 * k < begin + each && at <= plan.tiles) plan.limits[at] = before + below[k];
      before += __shfl_sync(all_lanes, below[k] + mine[k], 31);
    }
  }
  if (each * warps == plan.tiles && threadIdx.x == threads - 1) plan.limits[plan.tiles] = before;
}

// Stores the positions where the runs of a tile end; one warp per tile.
template <int size> __device__ void plan_offsets(const KeysJob& job) {
  const int tile = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (tile >= job.plan.tiles) return;
  if (tile == 0 && lane_id() == 0) job.offsets[0] = job.begin;
  int to = job.plan.limits[tile] + 1;
  if (job.plan.limits[tile + 1] < to) return;
  for (int first = 0; first < size / 32; first += 32) {
    const int n = first + lane_id();
    unsigned word = n < size / 32 ? job.plan.ends[tile * (size / 32) + n] : 0;
    const int mine = __popc(word), before = sum_below(mine);
    for (int at = to + before; word; word &= word - 1)
      job.offsets[at++] = job.first + (long long)tile * size + n * 32 + __ffs(word);
    to += __shfl_sync(all_lanes, before + mine, 31);
  }
}

// Stores the key and the length of each run; one thread per run.
template <class Key> __device__ void describe_runs(const RunsJob& job) {
  const int run = blockIdx.x * blockDim.x + threadIdx.x;
  if (run >= job.count) return;
  const long long begin = job.offsets[run];
  static_cast<Key*>(job.firsts)[job.row + run] =
      job.by_run ? static_cast<const Key*>(job.by_run)[run] : static_cast<const Key*>(job.keys)[begin];
  job.lengths[job.row + run] = double(job.offsets[run + 1] - begin);
}

// The entry points of the kernels for plans from offsets, and of the kernels for plans from keys, with VT keys per
// lane.
#define KERNOPS_SEGMENT_PLAN                                                                            \
  KERNOPS_KERNEL(kernops_plan_limits, kernops::OffsetsJob, kernops::plan_limits<kernops::segment_tile>) \
  KERNOPS_KERNEL(kernops_plan_ends, kernops::OffsetsJob, kernops::plan_ends<kernops::segment_tile>)     \
  extern "C" __global__ void kernops_plan_opens(kernops::OffsetsJob job) {                              \
    kernops::plan_opens<kernops::segment_tile>(job.plan);                                               \
  }
#define KERNOPS_KEYS_PLAN(Key, VT)                                                                     \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT) kernops_plan_keys, kernops::KeysJob,    \
                 kernops::plan_keys<Key, VT, kernops::segment_tile / 32 / VT>)                         \
  extern "C" __global__ void __launch_bounds__(1024) kernops_plan_scan(kernops::KeysJob job) {         \
    kernops::plan_scan<1024>(job.plan);                                                                \
  }                                                                                                    \
  KERNOPS_KERNEL(kernops_plan_offsets, kernops::KeysJob, kernops::plan_offsets<kernops::segment_tile>) \
  KERNOPS_KERNEL(kernops_describe_runs, kernops::RunsJob, kernops::describe_runs<Key>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
