// Reductions of segments on the CPU, for one instruction set. Included by src/cpu_*.cpp.
//
//   up to `few` values    as many segments at once as a pack has lanes, each lane its own segment
//   up to a block         packs of the values of one segment, joined lane by lane
//   more                  block by block; the states are joined in order
//   groups in any order   value by value into the states of all rows, where those are small
//
// How a segment is reduced depends on its length alone, never on where the work was divided.
#pragma once
#include <kernops/seg_values.h>
#include <kernops/segment_reductions.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <Scatter how>
using ScatteredSum = std::conditional_t<how == Scatter::plain, DirectSum,
                                        std::conditional_t<how == Scatter::tiles, BlockSum, KahanSum>>;

// Within a block a plain sum is as good as one by tiles.
template <class R> struct Accumulate {
  using Block = R;
  template <Scatter> using Scattered = R;
  static constexpr bool scatters = R::indices == 0 && R::values <= 2;
};
template <> struct Accumulate<BlockSum> {
  using Block = DirectSum;
  template <Scatter how> using Scattered = ScatteredSum<how>;
  static constexpr bool scatters = true;
};
template <> struct Accumulate<Mean> {
  using Block = MeanOf<DirectSum>;
  template <Scatter how> using Scattered = MeanOf<ScatteredSum<how>>;
  static constexpr bool scatters = true;
};
template <> struct Accumulate<CountAll> {
  using Block = CountAll;
  template <Scatter> using Scattered = CountAll;
  static constexpr bool scatters = true;
};
template <> struct Accumulate<OnlineLogSumExp> {
  using Block = OnlineLogSumExp;
  static constexpr bool scatters = false;
};

// Whether the only value of a state is the result.
template <class R> struct IsResult : std::false_type {};
template <> struct IsResult<DirectSum> : std::true_type {};
template <> struct IsResult<Product> : std::true_type {};
template <int sign> struct IsResult<Extreme<sign>> : std::true_type {};

// The state of a whole segment from that of a block.
template <class R, class Block>
KERNOPS_INLINE void widen(const State<Block, double, Count>& block, State<R, double, Count>& whole) {
  R::start(whole);
  for (int n = 0; n < Block::values; ++n) whole.v[n] = block.v[n];
  for (int n = 0; n < Block::indices; ++n) whole.j[n] = block.j[n];
}
KERNOPS_INLINE void widen(const State<MeanOf<DirectSum>, double, Count>& block,
                          State<Mean, double, Count>& whole) {
  Mean::start(whole);
  whole.v[0] = block.v[0], whole.v[4] = block.v[1] + block.v[2];
}

// Whether a position is looked for, which is -1 while nothing beats infinity.
template <class R> struct Positioned : std::false_type {};
template <> struct Positioned<ArgSmallest> : std::true_type {};
template <> struct Positioned<ArgLargest> : std::true_type {};

template <class Reduction> struct SegmentReduction {
  using R = typename Accumulate<Reduction>::Block;
  using V = Pack<double>;
  using I = IntPack<double>;
  using Lanes = State<R, V, I>;
  using One = State<R, double, Count>;
  using Whole = State<Reduction, double, Count>;
  static constexpr int W = V::width, few = 2 * W < 16 ? 16 : 2 * W;

  static One lane(const Lanes& s, int l) {
    One one;
    for (int n = 0; n < R::values; ++n) one.v[n] = s.v[n].lane(l);
    for (int n = 0; n < R::indices; ++n) one.j[n] = s.j[n].lane(l);
    return one;
  }

  template <class S> static void finish(const SegmentJob& job, Count column, Count row, const S& s) {
    for (int o = 0; o < R::outputs; ++o) job.result(o, column, row) = R::finish(s, o);
  }

  // ---- lanes that are segments

  struct Held {
    const double* from[W];
    Count row[W];
    std::int64_t length[W];
    int count = 0;
  };

  // What lies beyond a segment may be read, but for the end of all values.
  template <bool skip>
  static void reduce_held(const SegmentJob& job, Count column, Held& held, const double* end) {
    const double* const last = held.from[held.count - 1];
    for (int l = held.count; l < W; ++l) held.from[l] = held.from[0], held.length[l] = held.length[0];
    std::int64_t least = held.length[0], most = held.length[0];
    for (int l = 1; l < W; ++l) {
      least = held.length[l] < least ? held.length[l] : least;
      most = held.length[l] > most ? held.length[l] : most;
    }
    const I lengths = I::load(held.length);
    Lanes s;
    R::start(s);
    V x;
    std::int64_t j = 0;
    const auto take = [&] {
      const auto inside = I(j) < lengths;
      add_where<R>(skip ? inside & (x == x) : inside, s, x, I(j));
    };
    for (; j < least; ++j) {
      for (int l = 0; l < W; ++l) x.v[l] = held.from[l][j];
      if (skip)
        add_where<R>(x == x, s, x, I(j));
      else
        R::add(s, x, I(j));
    }
    for (; j < most && last + j < end; ++j) {
      for (int l = 0; l < W; ++l) x.v[l] = held.from[l][j];
      take();
    }
    for (; j < most; ++j) {
      for (int l = 0; l < W; ++l) x.v[l] = held.from[l][j < held.length[l] ? j : 0];
      take();
    }
    R::settle(s);
    for (int l = 0; l < held.count; ++l) finish(job, column, held.row[l], lane(s, l));
    held.count = 0;
  }

  // Segments s .. s + W - 1, if all are short; the same operations as for held ones.
  template <bool skip>
  static bool reduce_adjacent(const SegmentJob& job, Count column, Count s, const double* x,
                              const double* end) {
    const I lengths = I::load(job.offsets + s + 1) - I::load(job.offsets + s);
    if (any(lengths > I(few)) || end - (x + job.offsets[s + W - 1]) < few) return false;
    const double* from[W];
    for (int l = 0; l < W; ++l) from[l] = x + job.offsets[s + l];
    Lanes state;
    R::start(state);
    V v;
    for (std::int64_t j = 0;; ++j) {
      const auto inside = I(j) < lengths;
      if (!any(inside)) break;
      for (int l = 0; l < W; ++l) v.v[l] = from[l][j];
      if (skip)
        add_where<R>(inside & (v == v), state, v, I(j));
      else if (all(inside))
        R::add(state, v, I(j));
      else
        add_where<R>(inside, state, v, I(j));
    }
    R::settle(state);
    if (IsResult<R>::value && !job.rows && job.out_row == 1)
      state.v[0].store(&job.result(0, column, s));
    else
      for (int l = 0; l < W; ++l) finish(job, column, job.row(s + l), lane(state, l));
    return true;
  }

  // ---- lanes that are values of one segment; j is the number of the first one

  template <bool skip> static One reduce_run(const double* x, Count length, Count j) {
    constexpr int ways = W < 4 ? 8 : 4;  // so that no lane adds more than 256 values of a block
    Lanes s[ways];
    I at = I::iota() + I(j);
    Count k = 0;
    const auto take = [&](Lanes& s, V v) {
      if (skip)
        add_where<R>(v == v, s, v, at);
      else
        R::add(s, v, at);
      at = at + I(W);
    };
    R::start(s[0]);
    if (length >= 2 * ways * W) {
      for (int u = 1; u < ways; ++u) R::start(s[u]);
      for (; k + ways * W <= length; k += ways * W)
        for (int u = 0; u < ways; ++u) take(s[u], V::load(x + k + u * W));
      for (int half = ways / 2; half > 0; half /= 2)
        for (int u = 0; u < half; ++u) R::merge(s[u], s[u + half]);
    }
    for (; k + W <= length; k += W) take(s[0], V::load(x + k));
    if (k < length) {
      double rest[W] = {};
      std::memcpy(rest, x + k, (length - k) * sizeof(double));
      const V v = V::load(rest);
      const auto inside = I::iota() < I(length - k);
      add_where<R>(skip ? inside & (v == v) : inside, s[0], v, at);
    }
    for (int half = W / 2; half > 0; half /= 2) {
      Lanes other;
      for (int n = 0; n < R::values; ++n) other.v[n] = rotate_lanes(s[0].v[n], half);
      for (int n = 0; n < R::indices; ++n) other.j[n] = rotate_lanes(s[0].j[n], half);
      R::merge(s[0], other);
    }
    R::settle(s[0]);
    return lane(s[0], 0);
  }

  // A position that beat nothing is the first one, as all values are equally infinite.
  template <class S> static void settle_position(const SegmentJob& job, Count column, Count segment, S& s) {
    if (!Positioned<Reduction>::value || s.j[0] >= 0) return;
    const Count length = job.offsets[segment + 1] - job.offsets[segment];
    for (Count k = 0; k < length && s.j[0] < 0; ++k) {
      double memory;
      const double x = *values_of(job, column, segment, k, 1, &memory);
      if (!job.skip_missing || x == x) s.j[0] = k;
    }
  }

  // ---- what SegmentEngine asks for

  static std::size_t scratch_bytes(const SegmentJob&, Count values, Count) {
    return (values + W) * sizeof(double);
  }

  static void segments(const SegmentJob& job, Count column, Count first, Count last, char* scratch) {
    const double* x =
        values_at(job, column, first, last, reinterpret_cast<double*>(scratch)) - job.offsets[first];
    job.skip_missing ? segments<true>(job, column, first, last, x)
                     : segments<false>(job, column, first, last, x);
  }

  template <bool skip>
  static void segments(const SegmentJob& job, Count column, Count first, Count last, const double* x) {
    const double* const end = x + job.offsets[last];
    Held held;
    for (Count s = first; s < last; ++s) {
      if (!Positioned<Reduction>::value && s + W <= last && reduce_adjacent<skip>(job, column, s, x, end)) {
        s += W - 1;
        continue;
      }
      const Count begin = job.offsets[s], length = job.offsets[s + 1] - begin;
      if (length <= few && !Positioned<Reduction>::value) {
        held.from[held.count] = x + begin;
        held.row[held.count] = job.row(s);
        held.length[held.count++] = length;
        if (held.count == W) reduce_held<skip>(job, column, held, end);
      } else {
        One one = reduce_run<skip>(x + begin, length, 0);
        settle_position(job, column, s, one);
        finish(job, column, job.row(s), one);
      }
    }
    if (held.count > 0) reduce_held<skip>(job, column, held, end);
  }

  static void block(const SegmentJob& job, Count column, Count segment, Count number, char* state,
                    char* scratch) {
    const Count first = number * segment_block, length = block_length(job, segment, number);
    const double* x = values_of(job, column, segment, first, length, reinterpret_cast<double*>(scratch));
    widen(job.skip_missing ? reduce_run<true>(x, length, first) : reduce_run<false>(x, length, first),
          *reinterpret_cast<Whole*>(state));
  }

  static void join(const SegmentJob& job, Count column, Count segment, char* states, Count blocks) {
    Whole* all = reinterpret_cast<Whole*>(states);
    for (Count n = 1; n < blocks; ++n) Reduction::merge(all[0], all[n]);
    settle_position(job, column, segment, all[0]);
    for (int o = 0; o < Reduction::outputs; ++o)
      job.result(o, column, job.row(segment)) = Reduction::finish(all[0], o);
  }

  static double nothing(int output) {
    Whole s;
    Reduction::start(s);
    return Reduction::finish(s, output);
  }
};

// Groups in any order.
template <class R> struct ScatteredReduction {
  struct One {
    double v[R::values];
  };

  static void add_rows(const SegmentJob& job, Count column, Count first, Count last, char* memory,
                       char* scratch) {
    One* states = reinterpret_cast<One*>(memory) + 1;  // row -1 takes what belongs to none
    for (Count n = -1; n < job.count; ++n) R::start(states[n]);
    const Count window = scatter_window(job.count), tile = window < 2048 ? window : 2048;
    for (Count row = first; row < last; row += tile) {
      const Count count = last - row < tile ? last - row : tile;
      const double* x = rows_at(job, column, row, count, reinterpret_cast<double*>(scratch));
      const int* groups = job.groups + row;
      if (job.skip_missing) {
        for (Count n = 0; n < count; ++n) R::add(states[x[n] == x[n] ? groups[n] : -1], x[n], 0);
      } else {
        for (Count n = 0; n < count; ++n) R::add(states[groups[n]], x[n], 0);
      }
      if (job.scatter == Scatter::tiles && (row - first + tile) % window == 0)
        for (Count g = 0; g < job.count; ++g) R::settle(states[g]);
    }
  }

  static void join(const SegmentJob& job, Count column, char* memory, Count chunks) {
    One* states = reinterpret_cast<One*>(memory) + 1;
    for (Count n = 0; n < job.count; ++n) {
      One s = states[n];
      for (Count chunk = 1; chunk < chunks; ++chunk) R::merge(s, states[n + chunk * (job.count + 1)]);
      R::settle(s);
      for (int o = 0; o < R::outputs; ++o) job.result(o, column, n) = R::finish(s, o);
    }
  }
};

template <class Reduction> SegmentEngine segment_reduction(const SegmentJob& job) {
  using A = Accumulate<Reduction>;
  using S = SegmentReduction<Reduction>;
  SegmentEngine engine = {sizeof(typename S::Whole),
                          S::scratch_bytes,
                          S::segments,
                          S::block,
                          S::join,
                          nullptr,
                          nullptr,
                          nullptr,
                          S::nothing};
  const auto scatter = [&](auto reduction) {
    using R = decltype(reduction);
    engine.state_bytes = sizeof(typename ScatteredReduction<R>::One);
    engine.scatter = ScatteredReduction<R>::add_rows;
    engine.join_scattered = ScatteredReduction<R>::join;
  };
  if constexpr (A::scatters) {
    if (job.groups && job.scatter == Scatter::plain)
      scatter(typename A::template Scattered<Scatter::plain>());
    if (job.groups && job.scatter == Scatter::tiles)
      scatter(typename A::template Scattered<Scatter::tiles>());
    if (job.groups && job.scatter == Scatter::careful)
      scatter(typename A::template Scattered<Scatter::careful>());
  }
  return engine;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
