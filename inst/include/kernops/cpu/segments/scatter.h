// Reduces groups whose values come in any order. Each value is added to the tile of its group (group_tiles.h).
#pragma once
#include <kernops/cpu/segments/choice.h>
#include <kernops/cpu/segments/group_tiles.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Each group has a tile and a count of values; group -1 collects values outside all groups. If a group has filled a
// tile, it also has a state, and the bit `group_block` of its count is set.
template <class R> struct GroupStates {
  using Tile = GroupTile<R>;
  using Whole = OneState<R>;

  GroupStates(const SegmentJob& job, ScatterMemory memory) {
    tiles = reinterpret_cast<Tile*>(memory.near) + 1;
    numbers = reinterpret_cast<unsigned char*>(memory.near + (job.groups.span + 1) * Count(sizeof(Tile))) + 1;
    wholes = reinterpret_cast<Whole*>(memory.far);
  }
  Tile* tiles;
  Whole* wholes;
  unsigned char* numbers;

  void start(Count span) const {
    for (Count n = -1; n < span; ++n) tiles[n].start();
    if constexpr (Tile::fills)
      for (Count n = -1; n < span; ++n) numbers[n] = 0;
  }
  KERNOPS_INLINE void count(Count group) const {
    if constexpr (Tile::fills)
      if ((++numbers[group] & (group_block - 1)) == 0) take_tile(group);
  }
  void take_tile(Count group) const {
    unsigned char& number = numbers[group];
    if (group >= 0) {
      if (number == group_block) R::start(wholes[group]);
      tiles[group].put(wholes[group], group_block);
      R::settle(wholes[group]);
    }
    tiles[group].start();
    number = group_block;
  }
  // Returns the state of all values of a group, including the values of its tile.
  KERNOPS_INLINE Whole whole(Count group) const {
    const int number = Tile::fills ? numbers[group] : 1, n = number & (group_block - 1);
    Whole s;
    if (number & group_block)
      s = wholes[group];
    else
      R::start(s);
    if (n > 0) tiles[group].put(s, n), R::settle(s);
    return s;
  }
};

// Returns whether all values and masses (weights) are finite.
template <int count> KERNOPS_INLINE bool all_finite(const double* x, const double* masses) {
  int wrong = 0;
  for (int n = 0; n < count; ++n) wrong |= int(x[n] - x[n] != 0) | int(masses[n] - masses[n] != 0);
  return !wrong;
}

template <class R> struct ScatteredReduction {
  using States = GroupStates<R>;
  static constexpr bool weighted = std::is_same<R, WeightedMean>::value;

  static bool add_rows(const SegmentJob& job, Count column, Count first, Count last, ScatterMemory memory,
                       char* scratch) {
    const States states(job, memory);
    states.start(job.groups.span);
    // at_once: number of rows in an iteration; cache: bytes of tiles that stay in the cache of a processor
    constexpr Count at_once = 2048, cache = 1 << 19;
    const bool far = job.groups.span * Count(sizeof(typename States::Tile)) > cache;
    bool strays = false;
    for (Count row = first; row < last; row += at_once) {
      const Count count = last - row < at_once ? last - row : at_once;
      const double* x = rows_at(job, column, row, count, reinterpret_cast<double*>(scratch));
      const double* masses = weighted ? job.masses + row : x;
      GroupCodes groups = job.groups;
      groups.code += row;
      strays |= groups.has_strays(count);
      const auto add = [&](auto skip) {
        far ? add_tile<skip, true>(groups, count, x, masses, states)
            : add_tile<skip, false>(groups, count, x, masses, states);
      };
      job.skip_missing ? add(std::true_type()) : add(std::false_type());
    }
    return strays;
  }

  // Adds weighted values. A few values and weights are tested at a time. If all tested values and weights are finite,
  // the products of values and weights need no comparison of the weight with 0.
  template <bool skip, bool far>
  static void add_tile(const GroupCodes groups, Count count, const double* x, const double* masses, States states) {
    constexpr int few = weighted ? 16 : 1;
    Count n = 0;
    for (; n + few <= count; n += few) {
      const bool finite = weighted && all_finite<few>(x + n, masses + n);
      if (finite)
        for (Count k = n; k < n + few; ++k) add_value<skip, weighted, far>(groups, k, count, x, masses, states);
      else
        for (Count k = n; k < n + few; ++k) add_value<skip, false, far>(groups, k, count, x, masses, states);
    }
    for (; n < count; ++n) add_value<skip, false, far>(groups, n, count, x, masses, states);
  }

  // Adds one value. If the tiles of all groups exceed the cache, the tile of a later value is prefetched.
  template <bool skip, bool finite, bool far>
  KERNOPS_INLINE static void add_value(const GroupCodes& groups, Count n, Count count, const double* x,
                                       const double* masses, const States& states) {
    constexpr Count ahead = 32;
    if constexpr (far) __builtin_prefetch(states.tiles + groups.number(n + ahead < count ? n + ahead : n));
    const Count number = groups.number(n), group = skip && !weighted && x[n] != x[n] ? -1 : number;
    auto& tile = states.tiles[group];
    if constexpr (finite)
      tile.add_finite(x[n], masses[n]);
    else
      tile.template add<skip>(x[n], masses[n], States::Tile::fills ? states.numbers[group] & (group_block - 1) : 0);
    states.count(group);
  }

  // Joins the tiles of all splits of a group, and computes the statistic from the joined tile. Returns false if the
  // group has filled a tile in any split, so that it also has states.
  static bool join_tiles(const SegmentJob& job, ScatterMemory memory, Count group, Count splits, double& result) {
    const States first(job, memory);
    auto tile = first.tiles[group];
    int n = first.numbers[group], all = n;
    for (Count split = 1; split < splits; ++split) {
      const States states(job, memory.split(split));
      all |= states.numbers[group], n += states.numbers[group];
      tile.join(states.tiles[group]);
    }
    if (all & group_block) return false;
    return result = tile.result(n), true;
  }

  // Joins the splits. The count of values distinguishes the NaN of an empty group from a NaN among the values.
  static bool join(const SegmentJob& job, Count column, ScatterMemory memory, Count splits) {
    bool any_nan = false;
    for (Count n = 0; n < job.groups.span; ++n) {
      const Count row = job.groups.row(n);
      if (row < 0) continue;
      double& result = job.result(0, column, row);
      join_group(job, column, memory, splits, n, row);
      any_nan |= result != result && (!States::Tile::fills || has_values(job, memory, splits, n));
    }
    return any_nan;
  }
  static bool has_values(const SegmentJob& job, ScatterMemory memory, Count splits, Count group) {
    for (Count split = 0; split < splits; ++split)
      if (States(job, memory.split(split)).numbers[group]) return true;
    return false;
  }
  static void join_group(const SegmentJob& job, Count column, ScatterMemory memory, Count splits, Count n, Count row) {
    if constexpr (States::Tile::adds)
      if (join_tiles(job, memory, n, splits, job.result(0, column, row))) return;
    auto s = States(job, memory).whole(n);
    for (Count split = 1; split < splits; ++split) R::merge(s, States(job, memory.split(split)).whole(n));
    R::settle(s);
    give<R>(job, column, row, s);
    if constexpr (std::is_base_of<Variance, R>::value)
      // the result of fewer than two values is NA, unlike the result of values with a NaN
      if (s.v[4] < 2) job.result(0, column, row) = missing();
  }
};

// Sets the functions of an engine for groups whose values come in any order.
template <class Way> void set_scatter(SegmentEngine& engine, std::size_t near_bytes, std::size_t far_bytes) {
  engine.near_bytes = near_bytes, engine.far_bytes = far_bytes;
  engine.scatter = Way::add_rows, engine.join_scattered = Way::join;
}
template <class R> void set_scatter(SegmentEngine& engine) {
  using States = GroupStates<R>;
  set_scatter<ScatteredReduction<R>>(engine, sizeof(typename States::Tile) + 1, sizeof(typename States::Whole));
}
template <class R> void add_scatter(const SegmentJob& job, SegmentEngine& engine) {
  if (!job.groups) return;
  if constexpr (std::is_same<R, First>::value || std::is_same<R, Last>::value) {
    set_scatter<ScatteredChoice<R>>(engine, sizeof(double) + 1, 0);
  } else if constexpr (std::is_same<R, Mean>::value) {
    job.masses ? set_scatter<WeightedMean>(engine) : set_scatter<Mean>(engine);
  } else if constexpr (R::indices == 0 && (R::values <= 3 || std::is_base_of<Variance, R>::value) &&
                       !std::is_same<R, OnlineLogSumExp>::value) {
    set_scatter<R>(engine);
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
