// Decoupled look-back (Merrill and Garland 2016): each tile of a scan publishes its part, which is the state of its
// values, and joins the parts of earlier tiles. A wait for an earlier part always ends: the blocks of earlier tiles
// began earlier, and publish their own parts without waiting for other blocks.
//
// The order in which parts arrive does not affect results, because parts are joined in a fixed tree: 32 tiles form a
// group, 32 groups form a section, and sections are joined one after another. The last tile of a group publishes the
// part of the group. The last tile of a section publishes the part of all tiles up to its end. A cut is a position at
// which the scan starts again, such as the end of a segment. A tile waits only for parts after the last cut.
#pragma once
#include <kernops/cuda/segments/reduce.cuh>
#include <kernops/jobs/device_scans.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The part of consecutive values of a scan: the state of the values after the last cut, whether values after the last
// cut exist, and whether there is a cut.
template <class Op> struct ScanPart {
  typename Op::State state;
  int has, cut;
};
template <class Op> __device__ __forceinline__ ScanPart<Op> no_part() {
  ScanPart<Op> part;
  part.state = Op::lift(0., 0);
  part.has = part.cut = 0;
  return part;
}
template <class Op> __device__ __forceinline__ ScanPart<Op> join_parts(const ScanPart<Op>& a, const ScanPart<Op>& b) {
  if (b.cut) return b;
  ScanPart<Op> both = b.has ? b : a;
  if (a.has && b.has) both.state = Op::combine(a.state, b.state);
  both.cut = a.cut;
  return both;
}

// The part of a tile in global memory, for other blocks. The lower half of each word holds 4 bytes of the state, and
// the upper half holds the flags of the part. All words are initially 0, so that a reader detects by the flags that a
// word has been written.
template <class Op> struct PublishedPart {
  static constexpr int size = sizeof(typename Op::State) / 4;
  static constexpr unsigned known = 1, has = 2, cut = 4;
  unsigned long long words[size];
  static_assert(sizeof(words) <= most_part_bytes, "the host makes room for parts");

  __device__ __forceinline__ void publish(const ScanPart<Op>& part) volatile {
    unsigned bits[size];
    memcpy(bits, &part.state, sizeof(part.state));
    const unsigned long long flags = known | (part.has ? has : 0) | (part.cut ? cut : 0);
    KERNOPS_EACH(k, size) words[k] = flags << 32 | bits[k];
  }
  // Reads the part if another block has published it. Returns false if the part has not been published.
  __device__ __forceinline__ bool read(ScanPart<Op>& part) const volatile {
    unsigned bits[size], flags = known | has | cut;
    KERNOPS_EACH(k, size) {
      const unsigned long long word = words[k];
      bits[k] = unsigned(word), flags &= unsigned(word >> 32);
    }
    memcpy(&part.state, bits, sizeof(part.state));
    part.has = (flags & has) != 0, part.cut = (flags & cut) != 0;
    return flags & known;
  }
};

// The published parts of one column of values; one warp of each block reads and writes these parts.
template <class Op> struct LookBack {
  using Part = ScanPart<Op>;
  using Published = PublishedPart<Op>;
  volatile Published *tiles, *groups, *sections;

  __device__ __forceinline__ LookBack(const ScanRun& job, int column) {
    tiles = static_cast<Published*>(job.run.carries) + column * scan_parts(job.tiles);
    groups = tiles + job.tiles;
    sections = groups + (job.tiles + scan_group - 1) / scan_group;
  }

  // The combined part of the first `count` members of a group or section. The members of a group are tiles, and the
  // members of a section are groups.
  static __device__ __forceinline__ Part joined(const volatile Published* members, int count) {
    Part part = no_part<Op>();
    bool known = lane_id() >= count;
    int last;
    do {
      if (!known) known = members[lane_id()].read(part);
      const unsigned cuts = __ballot_sync(all_lanes, known && part.cut);
      last = cuts ? 31 - __clz(cuts) : 0;
    } while (~__ballot_sync(all_lanes, known) >> last);
    if (lane_id() < last) part = no_part<Op>();
    KERNOPS_UNROLL
    for (int by = 1; by < 32; by *= 2) {
      const Part left = from_below(part, by);
      if (lane_id() >= by) part = join_parts(left, part);
    }
    return from_lane(part, 31);
  }

  static __device__ __forceinline__ Part awaited(const volatile Published& published) {
    Part part;
    while (!published.read(part)) continue;
    return part;
  }

  // Publishes the part of tile n and returns the part of all earlier tiles. If `continues` is false, no segment
  // continues from the previous tile, and the returned part has no values.
  __device__ __forceinline__ Part before(int n, const Part& mine, bool continues) const {
    const int group = n / scan_group, section = group / scan_group;
    const bool writes = lane_id() == 0, closes_group = n % scan_group == scan_group - 1,
               closes_section = closes_group && group % scan_group == scan_group - 1;
    if (writes) tiles[n].publish(mine);
    Part part = no_part<Op>();
    part.cut = !continues;
    if (continues) part = joined(tiles + group * scan_group, n % scan_group);
    if (writes && closes_group) groups[group].publish(join_parts(part, mine));
    if (!part.cut) part = join_parts(joined(groups + section * scan_group, group % scan_group), part);
    if (!part.cut && section > 0) part = join_parts(awaited(sections[section - 1]), part);
    if (writes && closes_section) sections[section].publish(join_parts(part, mine));
    return part;
  }

  static __device__ __forceinline__ void clear(const ScanRun& job) {
    const long long count = job.columns * scan_parts(job.tiles) * Published::size, stride = gridDim.x * blockDim.x;
    for (long long n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += stride)
      static_cast<unsigned long long*>(job.run.carries)[n] = 0;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
