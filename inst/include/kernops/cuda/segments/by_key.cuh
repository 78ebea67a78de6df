// Runs of equal keys, found and reduced in one pass over keys and values. A block publishes the number of runs that end
// in its tile as soon as the block has the keys. The block then reduces the values, and reads the number of runs that
// end before its tile. This read cannot cause a deadlock: the blocks of earlier tiles began earlier, and every block
// publishes its count before it waits for other blocks. Counts are whole numbers, and values are joined as in
// cuda/segments/reduce.cuh. Therefore results have the same bits as a reduction with a plan of segments.
#pragma once
#include <kernops/cuda/segments/plan.cuh>
#include <kernops/cuda/segments/reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ int sum_of_lanes(int mine) { return __shfl_sync(all_lanes, sum_below(mine) + mine, 31); }

__device__ __forceinline__ void say(const KeyedRun& job, int tile, int ends) {
  *static_cast<volatile int*>(job.ends + tile) = ends + 1;
  atomicAdd(job.groups + tile / word_group, (1ull << 32) + unsigned(ends));
}

// One warp computes the number of runs that end before the tile; `here` is the number of runs that end in the tile.
// Consecutive tiles form groups. Each lane reads the count of one tile in the group that contains this tile. The warp
// also reads earlier groups, from the last to the first, until it reaches a group that has published the total of all
// tiles up to its end.
__device__ __forceinline__ int ends_before(const KeyedRun& job, int tile, int here) {
  const volatile int *ends = job.ends, *through = job.through;
  const volatile unsigned long long* groups = job.groups;
  const int group = tile / word_group, place = tile % word_group, neighbour = tile - place + lane_id();
  int heard = lane_id() < place ? ends[neighbour] : 1, before = 0;
  unsigned found = 0;
  for (int last = group - 1; !found; last -= 32) {
    const int n = last - lane_id();
    int all = n < 0 ? 1 : through[n];
    unsigned long long own = n < 0 ? 0 : groups[n];
    while (all == 0 && own >> 32 < word_group) all = through[n], own = groups[n];
    found = __ballot_sync(all_lanes, all != 0);
    const int nearest = found ? __ffs(found) - 1 : 32;
    before += sum_of_lanes(lane_id() < nearest ? int(unsigned(own)) : lane_id() == nearest ? all - 1 : 0);
  }
  while (heard == 0) heard = ends[neighbour];
  before += sum_of_lanes(heard - 1);
  if (place == word_group - 1 && lane_id() == 0) *static_cast<volatile int*>(job.through + group) = before + here + 1;
  return before;
}

template <class Key, class Op, class Source, class Result, int VT, int warps> struct KeyedTile {
  using Tile = SegmentTile<Op, Source, Result, VT, warps>;
  using State = typename Op::State;
  using Staged = typename Op::Staged;
  using Keys = typename Contiguous<Key>::template Fetch<VT>;
  static_assert(!Op::positions, "nobody knows yet where a run begins");
  static constexpr int across = 32 * VT;

  // Returns a word in which bit k is set if key k of the lane differs from the next key. `beyond` is the first key of
  // the next warp. `left` is the number of keys that exist after the first key of the lane.
  static __device__ __forceinline__ unsigned ends_among(const Key (&v)[VT], Key beyond, int left) {
    const Key in_lane = __shfl_down_sync(all_lanes, v[0], 1), next = lane_id() < 31 ? in_lane : beyond;
    unsigned ends = unsigned(differ(v[VT - 1], next)) << (VT - 1);
    KERNOPS_UNROLL
    for (int k = 0; k + 1 < VT; ++k) ends |= unsigned(differ(v[k], v[k + 1])) << k;
    if (left >= VT) return ends;
    // the last of all keys ends a run, and the bits of later positions are 0
    return left < 0 ? 0 : (ends & ((1u << left) - 1)) | 1u << left;
  }

  // long: one kernel; its steps share registers
  static __device__ __forceinline__ void reduce(const KeyedRun& all) {
    alignas(16) __shared__ char rooms[warps][Tile::room];
    alignas(16) __shared__ Key key_rooms[warps][Turn<Key, VT>::room];
    __shared__ State carries[warps];
    __shared__ int counts[warps], goes_on, before;
    const SegmentRun& job = all.run;
    const Key* keys_of_all = static_cast<const Key*>(all.keys);
    const int warp = threadIdx.x / 32, lane = lane_id(), tile = blockIdx.x, last = job.plan.count - 1;
    const int first = tile * Tile::size + warp * across, at = first + lane * VT;
    Staged* rows = reinterpret_cast<Staged*>(rooms[warp]);
    Key* firsts = key_rooms[warp];

    SegmentRun source{};
    source.x = all.keys, source.plan = job.plan;
    Keys keys;
    typename Tile::Values values;
    if (first <= last) keys.load(source, 0, 0, first);
    const Key beyond = keys_of_all[first + across < last ? first + across : last],
              ahead = keys_of_all[tile > 0 ? tile * Tile::size - 1 : 0];
    if (first <= last) values.load(job, 0, tile * Tile::size, first);

    keys.turn(firsts);
    __syncwarp();
    const unsigned ends = ends_among(keys.v, beyond, last - at);
    reinterpret_cast<typename EndBits<VT>::type*>(job.plan.ends)[at / VT] = ends;
    int to = sum_below(__popc(ends));
    KERNOPS_EACH(k, VT)
      if (ends >> k & 1) firsts[to++] = keys.v[k];
    if (lane == 31) counts[warp] = ends >> (VT - 1) & 1 ? -to : to;
    if (threadIdx.x == 0) goes_on = tile > 0 && !differ(ahead, keys.v[0]);
    __syncthreads();
    const TileEnds here = TileEnds::from(counts);
    if (threadIdx.x == 0) say(all, tile, here.all);

    WarpPart<Op> part = Tile::reduce_warp(values, job.first + first, ends, rows);
    if (lane == 31) carries[warp] = part.carry;
    __syncthreads();
    const bool head = Tile::close(job, here, carries, part, rows, goes_on);
    if (here.all == 0 && tile % word_group < word_group - 1) return;
    if (warp == 0) {
      const int found = ends_before(all, tile, here.all);
      if (lane == 0) before = found;
    }
    __syncthreads();
    const int row = before + here.before;
    for (int n = lane; n < part.count; n += 32) static_cast<Key*>(all.firsts)[row + n] = firsts[n];
    Tile::put(job, row, rows, head, part.count);
  }
};

// Computes the number of runs that end before each tile of a group; one warp per group of tiles.
__device__ __forceinline__ void keyed_limits(const KeyedRun& job) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x, group = tile / word_group, tiles = job.run.plan.tiles;
  const int mine = tile < tiles ? job.ends[tile] - 1 : 0, below = sum_below(mine);
  const int limit = (group > 0 && tile < tiles ? job.through[group - 1] - 1 : 0) + below;
  if (tile < tiles) job.run.plan.limits[tile] = limit;
  if (tile == tiles - 1) job.run.plan.limits[tiles] = limit + mine;
}

// The entry points, for VT values per lane. The generated text appends two other kernels: the kernel that computes
// `opens` of the plan (plan.cuh), and the spine (spine.cuh).
#define KERNOPS_BY_KEY(Key, Op, Source, Result, VT)                                                        \
  KERNOPS_KERNEL(__launch_bounds__(kernops::segment_tile / VT, 5) kernops_by_key, kernops::KeyedRun,       \
                 kernops::KeyedTile<Key, Op, Source, Result, VT, kernops::segment_tile / 32 / VT>::reduce) \
  KERNOPS_KERNEL(kernops_keyed_limits, kernops::KeyedRun, kernops::keyed_limits)

}  // namespace KERNOPS_ISA
}  // namespace kernops
