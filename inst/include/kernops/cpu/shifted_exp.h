// Sums of exponentials without overflow: the maximum of a tile is computed first, so that a pair takes one exp.
#pragma once
#include <kernops/cpu/entrywise.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Accumulates max f, the sum of exp(f - max f) and, for each entry of w, the sum of exp(f - max f) * w.
template <class T, Shifted result, class A = T> struct ShiftedExp {
  static constexpr bool is_sum = false;
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

  static void add(const Job& job, char* state, const Operand<T>& f, const Operand<T>& w, const TileColumns& tile,
                  T* scratch) {
    constexpr int W = V::width;
    V top = shift(state);
    for (int lane = 0; lane < tile.count; lane += W) top = max(top, LaneView<T>(f, lane)[0]);  // padding repeats a lane
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
        if (lane + W > tile.count) term = select(IntPack<T>::iota() < IntPack<T>(tile.count - lane), term, V(0));
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

  static void collapse(const Job& job, const char* state, const TileColumns& split, char* partial) {
    Partial& all = *reinterpret_cast<Partial*>(partial);
    all.shift = shift(const_cast<char*>(state));
    Job each = job;
    each.f_size = sums(job);
    Sums::collapse(each, reinterpret_cast<const char*>(lanes(const_cast<char*>(state))), split,
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

}  // namespace KERNOPS_ISA
}  // namespace kernops
