// The states of many rows, with one row in each lane of a pack. LaneWorker (kernops/cpu/rows_in_lanes.h) adds one
// column after another to the states of all rows of a tile. Accumulators without LaneStates are used only by Worker
// (kernops/cpu/map_reduce.h), which processes one row after another.
#pragma once
#include <kernops/cpu/accumulate.h>
#include <kernops/cpu/buffer.h>

namespace kernops {
inline namespace KERNOPS_ISA {

//   start()              makes the states of all rows empty
//   add(f, w, j, lanes)  adds the values of column j to the first `lanes` rows
//   settle()             is called after every few columns, and after the last column
//   collapse(lane, to)   writes the Partial of a row
template <class T, class Reduction> struct LaneStates { static constexpr bool exists = false; };

template <class T, class R, class A> class LaneStates<T, Entrywise<T, R, A>> {
  using E = Entrywise<T, R, A>;
  using V = Pack<T>;
  using Lanes = typename E::Lanes;
  using Partial = typename E::Partial;
  static constexpr int W = V::width;

 public:
  static constexpr bool exists = true;
  explicit LaneStates(const Job& job)
      : entries_(E::entries(job)), packs_(job.tile / W), weighted_(E::is_sum && job.w != 0), states_(count()) {}

  void start() {
    for (int n = 0; n < count(); ++n) R::start(states_.data()[n]);
  }

  void add(const Operand<T>& f, const Operand<T>& w, Count j, int lanes, T*) {
    const auto plain = [&](int k, int lane) { return LaneView<T>(f, lane)[k]; };
    const auto weighted = [&](int k, int lane) { return LaneView<T>(f, lane)[k] * LaneView<T>(w, lane)[k]; };
    for (int k = 0; k < entries_; ++k) weighted_ ? add_entry(weighted, k, j, lanes) : add_entry(plain, k, j, lanes);
  }

  void settle() {
    for (int n = 0; n < count(); ++n) R::settle(states_.data()[n]);
  }

  void collapse(int lane, char* partial) const {
    for (int k = 0; k < entries_; ++k) {
      const Lanes& lanes = states_.data()[k * packs_ + lane / W];
      Partial& row = reinterpret_cast<Partial*>(partial)[k];
      for (int n = 0; n < R::values; ++n) row.v[n] = lanes.v[n].lane(lane % W);
      for (int n = 0; n < R::indices; ++n) row.j[n] = lanes.j[n].lane(lane % W);
    }
  }

 private:
  int count() const { return entries_ * packs_; }

  template <class F> void add_entry(const F& value, int k, Count j, int lanes) {
    const IntPack<T> index{int(j)};
    Lanes* to = states_.data() + k * packs_;
    for (int lane = 0; lane < lanes; lane += W, ++to) {
      Lanes s = *to;
      R::add(s, typename E::Sum(value(k, lane)), index);
      *to = s;
    }
  }

  const int entries_, packs_;
  const bool weighted_;
  Buffer<Lanes> states_;
};

// The sums of a pack of rows are relative to the maxima of these rows. If a value exceeds the maximum, the sums are
// rescaled, and the value is added with weight 1. If not, the value is added with weight exp(value - maximum). Each of
// the two cases takes one exponential per pair.
template <class T, Shifted result, class A> class LaneStates<T, ShiftedExp<T, result, A>> {
  using E = ShiftedExp<T, result, A>;
  using V = Pack<T>;
  using Sum = typename E::Sum;
  using Lanes = typename E::Lanes;
  static constexpr int W = V::width;

 public:
  static constexpr bool exists = true;
  explicit LaneStates(const Job& job) : sums_(E::sums(job)), packs_(job.tile / W), tops_(packs_), states_(count()) {}

  void start() {
    for (int n = 0; n < packs_; ++n) tops_.data()[n] = E::lowest();
    for (int n = 0; n < count(); ++n) BlockSum::start(states_.data()[n]);
  }

  void add(const Operand<T>& f, const Operand<T>& w, Count, int lanes, T* weights) {
    for (int lane = 0; lane < lanes; lane += W) {
      const V x = LaneView<T>(f, lane)[0], top = tops_.data()[lane / W], highest = max(top, x);
      const V fading = select(x == top, V(1), exp(min(x, top) - highest));
      const auto rises = x > top;
      select(rises, V(1), fading).store(weights + lane);
      tops_.data()[lane / W] = highest;
      if (any(rises)) rescale(lane / W, Sum(select(rises, fading, V(1))));
    }
    for (int k = 0; k < sums_; ++k)
      for (int lane = 0; lane < lanes; lane += W) {
        const V weight = V::load(weights + lane);
        BlockSum::add(states_.data()[k * packs_ + lane / W],
                      Sum(k == 0 ? weight : weight * LaneView<T>(w, lane)[k - 1]), 0);
      }
  }

  void settle() {
    for (int n = 0; n < count(); ++n) BlockSum::settle(states_.data()[n]);
  }

  void collapse(int lane, char* partial) const {
    auto& row = *reinterpret_cast<typename E::Partial*>(partial);
    row.shift = tops_.data()[lane / W].lane(lane % W);
    for (int k = 0; k < sums_; ++k)
      for (int n = 0; n < BlockSum::values; ++n)
        row.sums[k].v[n] = states_.data()[k * packs_ + lane / W].v[n].lane(lane % W);
  }

 private:
  int count() const { return sums_ * packs_; }
  void rescale(int pack, Sum factor) {
    for (int k = 0; k < sums_; ++k) E::scale(states_.data()[k * packs_ + pack], factor);
  }

  const int sums_, packs_;
  Buffer<V> tops_;
  Buffer<Lanes> states_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
