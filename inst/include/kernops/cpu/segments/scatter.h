// Groups in any order: value by value into the tiles of all groups (group_tiles.h).
#pragma once
#include <kernops/cpu/segments/choice.h>
#include <kernops/cpu/segments/group_tiles.h>
#include <kernops/cpu/segments/values.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The memory of a split: for all groups, and number -1 for the values of no group, the tiles and how many values each
// has; then the states of those groups that had a full tile, whose numbers have the highest bit.
template <class R> struct GroupStates {
  using Tile = GroupTile<R>;
  using Whole = OneState<R>;
  static constexpr std::size_t bytes = sizeof(Tile) + sizeof(Whole) + 1;

  GroupStates(const SegmentJob& job, char* memory) {
    const Count all = job.groups.span + 1;
    char* const states = memory + all * Count(sizeof(Tile));
    tiles = reinterpret_cast<Tile*>(memory) + 1;
    wholes = reinterpret_cast<Whole*>(states);
    numbers = reinterpret_cast<unsigned char*>(states + all * Count(sizeof(Whole))) + 1;
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
  // The state of all values, which are settled.
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

// Are all numbers finite?
inline bool all_finite(const double* x, Count n) {
  constexpr int lanes = 8;
  double differences[lanes] = {0};
  Count k = 0;
  for (; k + lanes <= n; k += lanes)
    for (int lane = 0; lane < lanes; ++lane) differences[lane] += x[k + lane] - x[k + lane];
  for (; k < n; ++k) differences[0] += x[k] - x[k];
  double sum = 0;
  for (const double difference : differences) sum += difference;
  return sum == 0;
}

template <class R> struct ScatteredReduction {
  using States = GroupStates<R>;
  static constexpr bool weighted = std::is_same<R, WeightedMean>::value;

  static void add_rows(const SegmentJob& job, Count column, Count first, Count last, char* memory, char* scratch) {
    const States states(job, memory);
    states.start(job.groups.span);
    constexpr Count at_once = 2048, cache = 1 << 19;  // bytes of tiles that a processor keeps near
    const bool far = job.groups.span * Count(sizeof(typename States::Tile)) > cache;
    for (Count row = first; row < last; row += at_once) {
      const Count count = last - row < at_once ? last - row : at_once;
      const double* x = rows_at(job, column, row, count, reinterpret_cast<double*>(scratch));
      const double* masses = weighted ? job.masses + row : x;
      GroupCodes groups = job.groups;
      groups.code += row;
      const auto add = [&](auto skip, auto finite) {
        far ? add_tile<skip, finite, true>(groups, count, x, masses, states)
            : add_tile<skip, finite, false>(groups, count, x, masses, states);
      };
      if (weighted && all_finite(x, count) && all_finite(masses, count))
        add(std::false_type(), std::true_type());
      else
        job.skip_missing ? add(std::true_type(), std::false_type()) : add(std::false_type(), std::false_type());
    }
  }

  // The tiles of later values are fetched ahead if they are far away.
  template <bool skip, bool finite, bool far>
  static void add_tile(const GroupCodes groups, Count count, const double* x, const double* masses, States states) {
    constexpr Count ahead = 32;
    for (Count n = 0; n < count; ++n) {
      if constexpr (far) __builtin_prefetch(states.tiles + groups.number(n + ahead < count ? n + ahead : n));
      const Count number = groups.number(n), group = skip && !weighted && x[n] != x[n] ? -1 : number;
      auto& tile = states.tiles[group];
      if constexpr (weighted && finite)
        tile.add_finite(x[n], masses[n]);
      else
        tile.template add<skip>(x[n], masses[n], States::Tile::fills ? states.numbers[group] & (group_block - 1) : 0);
      states.count(group);
    }
  }

  // The statistic of a group that has a full tile in no split is that of the tiles.
  static bool join_tiles(const States& first, Count group, Count splits, std::size_t split_bytes, double& result) {
    auto tile = first.tiles[group];
    int n = first.numbers[group], all = n;
    for (Count split = 1; split < splits; ++split) {
      const std::size_t skip = std::size_t(split) * split_bytes;
      const int more = *(first.numbers + group + skip);
      all |= more, n += more;
      tile.join(
          *reinterpret_cast<const typename States::Tile*>(reinterpret_cast<const char*>(first.tiles + group) + skip));
    }
    if (all & group_block) return false;
    return result = tile.result(n), true;
  }

  static void join(const SegmentJob& job, Count column, char* memory, Count splits, std::size_t split_bytes) {
    const States first(job, memory);
    for (Count n = 0; n < job.groups.span; ++n) {
      const Count row = job.groups.row(n);
      if (row < 0) continue;
      if constexpr (States::Tile::adds)
        if (join_tiles(first, n, splits, split_bytes, job.result(0, column, row))) continue;
      auto s = first.whole(n);
      for (Count split = 1; split < splits; ++split) {
        const States states(job, memory + split * Count(split_bytes));
        R::merge(s, states.whole(n));
      }
      R::settle(s);
      give<R>(job, column, row, s);
      if constexpr (std::is_base_of<Variance, R>::value)
        if (s.v[4] < 2) job.result(0, column, row) = missing();  // NaN would have to be told from that of values
    }
  }
};

// How an engine does so, where it can.
template <class R> void set_scatter(SegmentEngine& engine) {
  engine.state_bytes = GroupStates<R>::bytes;
  engine.scatter = ScatteredReduction<R>::add_rows;
  engine.join_scattered = ScatteredReduction<R>::join;
}
template <class R> void add_scatter(const SegmentJob& job, SegmentEngine& engine) {
  if (!job.groups) return;
  if constexpr (std::is_same<R, First>::value || std::is_same<R, Last>::value) {
    engine.state_bytes = sizeof(double) + 1;
    engine.scatter = ScatteredChoice<R>::choose;
    engine.join_scattered = ScatteredChoice<R>::join;
  } else if constexpr (std::is_same<R, Mean>::value) {
    job.masses ? set_scatter<WeightedMean>(engine) : set_scatter<Mean>(engine);
  } else if constexpr (R::indices == 0 && (R::values <= 3 || std::is_base_of<Variance, R>::value) &&
                       !std::is_same<R, OnlineLogSumExp>::value) {
    set_scatter<R>(engine);
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
