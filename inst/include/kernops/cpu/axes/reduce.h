// One thread's part of an axis reduction on the CPU. A slice contains the values of one result. The lanes of SIMD packs
// lie along one slice (four packs at a time), or across slices, so that each lane is one result. In both cases, rows of
// lanes are added one after another to one row of states.
#pragma once
#include <kernops/cpu/axes/walk.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Lane l of row r is at position first + r * row + l * lane.
struct Positions {
  Count first, row, lane;
};

template <class R, bool skip> struct SliceReducer {
  using V = Pack<double>;
  using I = IntPack<double>;
  using Lanes = State<R, V, I>;
  using One = State<R, double, Count>;
  static constexpr int W = V::width, ways = 4, settled = 16;

  static void take(const Tile& tile, int rows, int lanes, const Positions& positions, Lanes* states) {
    for (int first = 0; first < rows; first += settled) {
      const int last = first + settled < rows ? first + settled : rows;
      for (int lane = 0; lane < lanes; lane += W)
        take_pack(tile, first, last, lane, lanes - lane, positions, states[lane / W]);
    }
  }

  static KERNOPS_INLINE void take_pack(const Tile& tile, int first, int last, int lane, int left,
                                       const Positions& positions, Lanes& state) {
    Lanes s = state;
    I lane_position = I::iota();
    for (int n = 0; n < W; ++n) lane_position.v[n] = positions.first + (lane + n) * positions.lane;
    const double* from = tile.at + first * tile.row + lane;
    if (left >= W) {
      for (int r = first; r < last; ++r, from += tile.row)
        take_value(s, V::load(from), lane_position + I(r * positions.row));
    } else {
      const auto inside = I::iota() < I(left);
      for (int r = first; r < last; ++r, from += tile.row)
        add_valid(s, inside, load_some(from, left), lane_position + I(r * positions.row));
    }
    R::settle(s);
    state = s;
  }

  static KERNOPS_INLINE void take_value(Lanes& s, V x, I j) {
    if (skip)
      add_where<R>(x == x, s, x, j);
    else
      R::add(s, x, j);
  }
  static KERNOPS_INLINE void add_valid(Lanes& s, Mask<double> inside, V x, I j) {
    add_where<R>(skip ? inside & (x == x) : inside, s, x, j);
  }

  static One lane_of(const Lanes& lanes, int lane) {
    One one;
    for (int n = 0; n < R::values; ++n) one.v[n] = lanes.v[n].lane(lane);
    for (int n = 0; n < R::indices; ++n) one.j[n] = lanes.j[n].lane(lane);
    return one;
  }

  // Reduces one chunk of the slices of the results `first` .. `first` + count - 1. If lanes lie across slices, these
  // results are adjacent along the first kept dimension.
  static void reduce(const SliceJob& job, Count first, Count count, Count chunk, double* buffer) {
    const Count begin = chunk * job.chunk, end = begin + job.chunk < job.slice ? begin + job.chunk : job.slice;
    Lanes states[most_lanes / W];
    const Count together = job.along ? 1 : count, step = job.reduced.count ? job.reduced.run[0].number : 0;
    for (Count n = first; n < first + count; n += together) {
      const Spot base = spot(job.kept, n);
      for (int m = 0; m < (job.along ? ways : most_lanes / W); ++m) R::start(states[m]);
      each_window(job, base, begin, end, int(together), [&](const Window& window, Count position) {
        const Positions positions{position, job.along ? window.lanes * step : step, job.along ? step : 0};
        take(load(job, window, buffer), window.rows, window.lanes, positions, states);
      });
      if (job.along)
        give(job, base, n, chunk, join(states));
      else
        give_lanes(job, base, n, int(count), chunk, states);
    }
  }

  // Joins the states pairwise: first the packs, and then the lanes.
  static One join(Lanes* states) {
    for (int half = ways / 2; half > 0; half /= 2)
      for (int way = 0; way < half; ++way) R::merge(states[way], states[way + half]);
    for (int by = W / 2; by > 0; by /= 2) {
      Lanes others = states[0];
      for (int n = 0; n < R::values; ++n) others.v[n] = rotate_lanes(others.v[n], by);
      for (int n = 0; n < R::indices; ++n) others.j[n] = rotate_lanes(others.j[n], by);
      R::merge(states[0], others);
    }
    return lane_of(states[0], 0);
  }

  static void give_lanes(const SliceJob& job, Spot base, Count first, int count, Count chunk, const Lanes* states) {
    const Run run = job.kept.count ? job.kept.run[0] : Run{1, 1, 1};
    for (int n = 0; n < count; ++n)
      give(job, {base.offset + n * run.stride, base.number + n * run.number}, first + n, chunk,
           lane_of(states[n / W], n % W));
  }

  static void give(const SliceJob& job, Spot at, Count result, Count chunk, const One& state) {
    if (job.chunks() == 1)
      finish(job, at, state);
    else
      static_cast<One*>(job.partials)[result * job.chunks() + chunk] = state;
  }

  static void merge(const SliceJob& job, Count result) {
    One* parts = static_cast<One*>(job.partials) + result * job.chunks();
    for (Count chunk = 1; chunk < job.chunks(); ++chunk) R::merge(parts[0], parts[chunk]);
    finish(job, spot(job.kept, result), parts[0]);
  }

  static void finish(const SliceJob& job, Spot at, const One& state) {
    constexpr bool one_of_them = std::is_same<R, First>::value || std::is_same<R, Last>::value;
    for (int n = 0; n < R::outputs; ++n) {
      double& out = job.out[at.number * R::outputs + n];
      out = R::finish(state, n);
      if (!skip && !one_of_them && out != out && has_missing(job, at.offset)) out = missing();
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
