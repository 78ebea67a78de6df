// How a row takes in tile after tile of f (and w). Three ways:
//   Entrywise<R>   each entry by itself, lane by lane, with a struct of reductions.h
//   ShiftedExp     sums of exp(f - max f) * w, the maximum taken a tile at a time: one exp per pair
//   KExtreme       sorted lists of the K smallest, or largest
// Each keeps a State per row while it runs, collapses it to a Partial, merges Partials in order, and writes
// the result. T is the type of the terms, A that of their sums.
#pragma once
#include <kernops/job.h>
#include <kernops/reductions.h>
#include <kernops/tiles.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The lanes of a tile: `count` of them, the first being number `first` of the chunk that starts at `base`.
struct TileLanes {
  int count;
  Count first, base;
};

template <class T, class R, class A = T> struct Entrywise {
  using V = Pack<T>;
  using Sum = typename PackOf<T, A>::type;
  using Lanes = State<R, Sum, IntPack<T>>;
  using Partial = State<R, A, Count>;

  static int entries(const Job& job) { return job.f_size; }
  static std::size_t state_bytes(const Job& job) { return entries(job) * sizeof(Lanes); }
  static std::size_t partial_bytes(const Job& job) { return entries(job) * sizeof(Partial); }

  static void start(const Job& job, char* state) {
    for (int k = 0; k < entries(job); ++k) R::start(reinterpret_cast<Lanes*>(state)[k]);
  }

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>& w,
                  const TileLanes& tile, T*) {
    const auto plain = [&](int lane, int k) { return LaneView<T>(f, lane)[k]; };
    const auto weighted = [&](int lane, int k) { return LaneView<T>(f, lane)[k] * LaneView<T>(w, lane)[k]; };
    for (int k = 0; k < entries(job); ++k) {
      Lanes& s = reinterpret_cast<Lanes*>(state)[k];
      if (job.w == 0)
        add_entry(s, plain, k, tile);
      else
        add_entry(s, weighted, k, tile);
    }
  }

  // Four states at a time hide the latency of an addition.
  template <class F> static void add_entry(Lanes& state, const F& value, int k, const TileLanes& tile) {
    constexpr int W = V::width, ways = 4;
    Lanes s[ways];
    s[0] = state;
    for (int u = 1; u < ways; ++u) R::start(s[u]);
    IntPack<T> j = IntPack<T>::iota() + IntPack<T>(tile.first);
    int lane = 0;
    for (; lane + ways * W <= tile.count; lane += ways * W)
      for (int u = 0; u < ways; ++u, j = j + IntPack<T>(W)) R::add(s[u], Sum(value(lane + u * W, k)), j);
    for (; lane + W <= tile.count; lane += W, j = j + IntPack<T>(W)) R::add(s[0], Sum(value(lane, k)), j);
    if (lane < tile.count) {
      const auto inside = IntPack<T>::iota() < IntPack<T>(tile.count - lane);
      add_where<R>(inside, s[0], Sum(value(lane, k)), j);
    }
    for (int u = 1; u < ways; ++u) R::merge(s[0], s[u]);
    R::settle(s[0]);
    state = s[0];
  }

  static void collapse(const Job& job, const char* state, const TileLanes& chunk, char* partial) {
    for (int k = 0; k < entries(job); ++k) {
      const Lanes& lanes = reinterpret_cast<const Lanes*>(state)[k];
      Partial& all = reinterpret_cast<Partial*>(partial)[k];
      for (int lane = 0; lane < V::width; ++lane) {
        Partial one;
        for (int n = 0; n < R::values; ++n) one.v[n] = lanes.v[n].lane(lane);
        for (int n = 0; n < R::indices; ++n)
          one.j[n] = lanes.j[n].lane(lane) + (lanes.j[n].lane(lane) < 0 ? 0 : chunk.base);
        if (lane == 0)
          all = one;
        else
          R::merge(all, one);
      }
    }
  }

  static void merge(const Job& job, char* into, const char* other) {
    for (int k = 0; k < entries(job); ++k)
      R::merge(reinterpret_cast<Partial*>(into)[k], reinterpret_cast<const Partial*>(other)[k]);
  }

  static void finish(const Job& job, const char* partial, bool any, double* out) {
    for (int k = 0; k < entries(job); ++k) {
      Partial s = reinterpret_cast<const Partial*>(partial)[k];
      if (R::indices > 0 && s.j[0] < 0 && any) s.j[0] = 0;  // all are equally infinite: the first
      for (int n = 0; n < R::outputs; ++n) out[(n * entries(job) + k) * job.out_entry] = R::finish(s, n);
    }
  }
};

// max f, the sum of exp(f - max f), and for each entry of w the sum of exp(f - max f) * w.
template <class T, Shifted result, class A = T> struct ShiftedExp {
  using V = Pack<T>;
  using Sums = Entrywise<T, BlockSum, A>;
  using Sum = typename Sums::Sum;
  using Lanes = typename Sums::Lanes;
  struct Partial {
    T shift;
    State<BlockSum, A, Count> sums[1];
  };

  static int sums(const Job& job) { return job.w_size + 1; }
  static std::size_t state_bytes(const Job& job) { return sizeof(Lanes) * (sums(job) + 1); }
  static std::size_t partial_bytes(const Job& job) {
    return sizeof(Partial) + job.w_size * sizeof(State<BlockSum, A, Count>);
  }
  static T& shift(char* state) { return *reinterpret_cast<T*>(state); }
  static Lanes* lanes(char* state) { return reinterpret_cast<Lanes*>(state) + 1; }
  static T lowest() { return sizeof(T) == 8 ? T(-1.7976931348623157e308) : T(-3.4028234663852886e38); }
  static A fading(T shift, T highest) { return shift == highest ? A(1) : exp(A(shift) - A(highest)); }
  template <class S, class X> static void scale(S& sum, X factor) {
    for (auto& value : sum.v) value = value * factor;
  }

  static void start(const Job& job, char* state) {
    shift(state) = lowest();
    for (int k = 0; k < sums(job); ++k) BlockSum::start(lanes(state)[k]);
  }

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>& w,
                  const TileLanes& tile, T* scratch) {
    constexpr int W = V::width;
    V top = shift(state);
    for (int lane = 0; lane < tile.count; lane += W)
      top = max(top, LaneView<T>(f, lane)[0]);  // padding repeats a lane
    T highest = top.lane(0);
    for (int lane = 1; lane < W; ++lane) highest = max(highest, top.lane(lane));
    rescale(job, state, highest);
    const V m = highest;
    for (int lane = 0; lane < tile.count; lane += W) {
      const V x = LaneView<T>(f, lane)[0];
      select(x == m, V(1), exp(x - m)).store(scratch + lane);
    }
    for (int k = 0; k < sums(job); ++k) {
      Lanes s = lanes(state)[k];
      for (int lane = 0; lane < tile.count; lane += W) {
        V term = V::load(scratch + lane);
        if (k > 0) term = term * LaneView<T>(w, lane)[k - 1];
        if (lane + W > tile.count)
          term = select(IntPack<T>::iota() < IntPack<T>(tile.count - lane), term, V(0));
        BlockSum::add(s, Sum(term), 0);
      }
      BlockSum::settle(s);
      lanes(state)[k] = s;
    }
  }

  static void rescale(const Job& job, char* state, T highest) {
    if (highest == shift(state)) return;
    const Sum factor = fading(shift(state), highest);
    for (int k = 0; k < sums(job); ++k) scale(lanes(state)[k], factor);
    shift(state) = highest;
  }

  static void collapse(const Job& job, const char* state, const TileLanes& chunk, char* partial) {
    Partial& all = *reinterpret_cast<Partial*>(partial);
    all.shift = shift(const_cast<char*>(state));
    Job each = job;
    each.f_size = sums(job);
    Sums::collapse(each, reinterpret_cast<const char*>(lanes(const_cast<char*>(state))), chunk,
                   reinterpret_cast<char*>(all.sums));
  }

  static void merge(const Job& job, char* into, const char* other) {
    Partial &a = *reinterpret_cast<Partial*>(into), b = *reinterpret_cast<const Partial*>(other);
    const auto* b_sums = reinterpret_cast<const Partial*>(other)->sums;
    const T highest = max(a.shift, b.shift);
    const A scale_a = fading(a.shift, highest), scale_b = fading(b.shift, highest);
    for (int k = 0; k < sums(job); ++k) {
      auto term = b_sums[k];
      scale(a.sums[k], scale_a);
      scale(term, scale_b);
      BlockSum::merge(a.sums[k], term);
    }
    a.shift = highest;
  }

  static void finish(const Job& job, const char* partial, bool, double* out) {
    const Partial& all = *reinterpret_cast<const Partial*>(partial);
    const double mass = BlockSum::finish(all.sums[0], 0);
    constexpr int first = result == Shifted::max_and_sums;
    if (first) out[0] = all.shift == lowest() ? -infinity<double>() : double(all.shift);
    for (int k = 0; k < job.w_size; ++k) {
      const double sum = BlockSum::finish(all.sums[k + 1], 0);
      out[(first + k) * job.out_entry] = result == Shifted::softmax   ? sum / mass
                                         : result == Shifted::log_sum ? double(all.shift) + log(sum)
                                                                      : sum;
    }
  }
};

// The K most extreme of each entry (sign = 1: smallest, ascending; -1: largest, descending), the earlier first among
// equals, NaN last. Gives the values (first = 0), the indices (last = 1) or both.
template <class T, int sign, int first, int last> struct KExtreme {
  struct Item {
    T value;
    Count index;
  };
  struct List {
    Count count;
    Item items[1];
  };

  static std::size_t list_bytes(const Job& job) { return sizeof(List) + (job.k - 1) * sizeof(Item); }
  static std::size_t state_bytes(const Job& job) { return job.f_size * list_bytes(job); }
  static std::size_t partial_bytes(const Job& job) { return state_bytes(job); }
  static List& list(const Job& job, const char* state, int k) {
    return *reinterpret_cast<List*>(const_cast<char*>(state) + k * list_bytes(job));
  }

  static void start(const Job& job, char* state) {
    for (int k = 0; k < job.f_size; ++k) list(job, state, k).count = 0;
  }

  static bool before(T x, T y) { return (sign > 0 ? x < y : x > y) || (y != y && x == x); }

  static void insert(const Job& job, List& to, T x, Count index) {
    if (to.count == job.k && !before(x, to.items[job.k - 1].value)) return;
    Count place = to.count < job.k ? to.count++ : job.k - 1;
    for (; place > 0 && before(x, to.items[place - 1].value); --place) to.items[place] = to.items[place - 1];
    to.items[place] = {x, index};
  }

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>&, const TileLanes& tile,
                  T*) {
    using V = Pack<T>;
    for (int k = 0; k < job.f_size; ++k) {
      List& to = list(job, state, k);
      for (int lane = 0; lane < tile.count; lane += V::width) {
        const V x = LaneView<T>(f, lane)[k];
        const V worst(to.count == job.k ? to.items[job.k - 1].value : T(0));
        if (to.count == job.k && all(sign > 0 ? x >= worst : x <= worst)) continue;
        for (int n = 0; n < V::width && lane + n < tile.count; ++n)
          insert(job, to, x.lane(n), tile.base + tile.first + lane + n);
      }
    }
  }

  static void collapse(const Job& job, const char* state, const TileLanes&, char* partial) {
    __builtin_memcpy(partial, state, state_bytes(job));
  }

  static void merge(const Job& job, char* into, const char* other) {
    for (int k = 0; k < job.f_size; ++k) {
      const List& from = list(job, other, k);
      for (Count n = 0; n < from.count; ++n)
        insert(job, list(job, into, k), from.items[n].value, from.items[n].index);
    }
  }

  static void finish(const Job& job, const char* partial, bool, double* out) {
    const int block = job.k * job.f_size;
    for (int k = 0; k < job.f_size; ++k) {
      const List& from = list(job, partial, k);
      for (int n = 0; n < job.k; ++n) {
        const int at = n * job.f_size + k;
        if (first == 0)
          out[at * job.out_entry] = n < from.count ? double(from.items[n].value) : sign * infinity<double>();
        if (last == 1)
          out[(at + (first == 0 ? block : 0)) * job.out_entry] =
              n < from.count ? double(from.items[n].index + 1) : 0;
      }
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
