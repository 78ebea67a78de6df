// Reduces each entry of f (for a weighted sum, of f times w) separately, with a struct of reductions.h. Each lane of a
// pack has its own state.
#pragma once
#include <kernops/reductions.h>
#include <kernops/cpu/tiles.h>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T, class R, class A = T> struct Entrywise {
  using V = Pack<T>;
  using Sum = typename PackOf<T, A>::type;
  using Lanes = State<R, Sum, IntPack<T>>;
  using Partial = State<R, A, Count>;
  static constexpr bool is_sum = std::is_same<R, BlockSum>::value || std::is_same<R, DirectSum>::value ||
                                 std::is_same<R, KahanSum>::value;  // see Planner::outputs()

  static int entries(const Job& job) { return job.f_size; }
  static std::size_t state_bytes(const Job& job) { return entries(job) * sizeof(Lanes); }
  static std::size_t partial_bytes(const Job& job) { return entries(job) * sizeof(Partial); }

  static void start(const Job& job, char* state) {
    for (int k = 0; k < entries(job); ++k) R::start(reinterpret_cast<Lanes*>(state)[k]);
  }

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>& w, const TileColumns& tile, T*) {
    const auto plain = [&](int lane, int k) { return LaneView<T>(f, lane)[k]; };
    const auto weighted = [&](int lane, int k) { return LaneView<T>(f, lane)[k] * LaneView<T>(w, lane)[k]; };
    for (int k = 0; k < entries(job); ++k) {
      Lanes& s = reinterpret_cast<Lanes*>(state)[k];
      if constexpr (is_sum)
        if (job.w != 0) {
          add_entry(s, weighted, k, tile);
          continue;
        }
      add_entry(s, plain, k, tile);
    }
  }

  // Four states at a time hide the latency of an addition.
  template <class F> static void add_entry(Lanes& state, const F& value, int k, const TileColumns& tile) {
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

  static void collapse(const Job& job, const char* state, const TileColumns& split, char* partial) {
    for (int k = 0; k < entries(job); ++k) {
      const Lanes& lanes = reinterpret_cast<const Lanes*>(state)[k];
      Partial& all = reinterpret_cast<Partial*>(partial)[k];
      for (int lane = 0; lane < V::width; ++lane) {
        Partial one;
        for (int n = 0; n < R::values; ++n) one.v[n] = lanes.v[n].lane(lane);
        for (int n = 0; n < R::indices; ++n)
          one.j[n] = lanes.j[n].lane(lane) + (lanes.j[n].lane(lane) < 0 ? 0 : split.base);
        if (lane == 0)
          all = one;
        else
          R::merge(all, one);
      }
    }
  }

  static void scale(const Job& job, char* partial, const Operand<T>& factors) {
    for (int k = 0; k < entries(job); ++k)
      for (auto& value : reinterpret_cast<Partial*>(partial)[k].v) value *= factors.p[k * factors.entry];
  }

  static void merge(const Job& job, char* into, const char* other) {
    for (int k = 0; k < entries(job); ++k)
      R::merge(reinterpret_cast<Partial*>(into)[k], reinterpret_cast<const Partial*>(other)[k]);
  }

  static void finish(const Job& job, const char* partial, bool any, double* out) {
    for (int k = 0; k < entries(job); ++k) {
      Partial s = reinterpret_cast<const Partial*>(partial)[k];
      // all values are infinite and equal: the result is the first value
      if (R::indices > 0 && s.j[0] < 0 && any) s.j[0] = 0;
      for (int n = 0; n < R::outputs; ++n) out[(n * entries(job) + k) * job.out_entry] = R::finish(s, n);
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
