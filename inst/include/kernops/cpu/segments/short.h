// Reduces short segments, with one segment in each lane of a pack.
#pragma once
#include <kernops/cpu/segments/states.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Reduces several segments: segment s begins at x[job.offsets[s]], and the values of all segments end at `end`. Each
// lane processes the values of its segment in order, independently of the other segments.
template <class R, bool skip> class ShortSegments {
  using V = Pack<double>;
  using I = IntPack<double>;
  static constexpr int W = V::width;

 public:
  static constexpr int most = 2 * W < 16 ? 16 : 2 * W;  // longest segment, in values

  ShortSegments(const SegmentJob& job, Count column, const double* x, const double* end)
      : job_(job), column_(column), x_(x), end_(end) {}
  ~ShortSegments() { reduce_held(); }  // reduces the last segments

  // Reduces the segments s .. s + W - 1 if all of them are short. Returns false if a segment is not short.
  bool take_pack(Count s) {
    const I lengths = I::load(job_.offsets + s + 1) - I::load(job_.offsets + s);
    if (any(lengths > I(most)) || end_ - (x_ + job_.offsets[s + W - 1]) < most) return false;
    const double* from[W];
    for (int l = 0; l < W; ++l) from[l] = x_ + job_.offsets[s + l];
    PackState<R> state;
    R::start(state);
    for (std::int64_t j = 0;; ++j) {
      const auto inside = I(j) < lengths;
      if (!any(inside)) break;
      const V x = values([&](int l) { return from[l][j]; });
      if (all(inside))
        add(state, x, j);
      else
        add_inside(state, inside, x, j);
    }
    R::settle(state);
    if (IsResult<R>::value && !job_.rows && job_.out_row == 1)
      state.v[0].store(&job_.result(0, column_, s));
    else
      for (int l = 0; l < W; ++l) give<R>(job_, column_, job_.row(s + l), lane_of<R>(state, l));
    return true;
  }

  // Adds segment s to the waiting segments, which are processed when a pack is full.
  void take(Count s) {
    from_[held_] = x_ + job_.offsets[s];
    row_[held_] = job_.row(s);
    length_[held_++] = job_.offsets[s + 1] - job_.offsets[s];
    if (held_ == W) reduce_held();
  }

 private:
  static KERNOPS_INLINE void add(PackState<R>& s, V x, std::int64_t j) {
    if (skip)
      add_where<R>(x == x, s, x, I(j));
    else
      R::add(s, x, I(j));
  }
  static KERNOPS_INLINE void add_inside(PackState<R>& s, Mask<double> inside, V x, std::int64_t j) {
    add_where<R>(skip ? inside & (x == x) : inside, s, x, I(j));
  }
  template <class Value> static KERNOPS_INLINE V values(Value value) {
    V x;
    for (int l = 0; l < W; ++l) x.v[l] = value(l);
    return x;
  }

  // Reduces the waiting segments. A read may go beyond the end of a segment, but must not go beyond the end of all
  // values.
  void reduce_held() {
    if (held_ == 0) return;
    const double* const last = from_[held_ - 1];
    for (int l = held_; l < W; ++l) from_[l] = from_[0], length_[l] = length_[0];
    std::int64_t shortest = length_[0], longest = length_[0];
    for (int l = 1; l < W; ++l) {
      shortest = length_[l] < shortest ? length_[l] : shortest;
      longest = length_[l] > longest ? length_[l] : longest;
    }
    const I lengths = I::load(length_);
    PackState<R> state;
    R::start(state);
    std::int64_t j = 0;
    for (; j < shortest; ++j) add(state, values([&](int l) { return from_[l][j]; }), j);
    for (; j < longest && last + j < end_; ++j)
      add_inside(state, I(j) < lengths, values([&](int l) { return from_[l][j]; }), j);
    for (; j < longest; ++j)
      add_inside(state, I(j) < lengths, values([&](int l) { return from_[l][j < length_[l] ? j : 0]; }), j);
    R::settle(state);
    for (int l = 0; l < held_; ++l) give<R>(job_, column_, row_[l], lane_of<R>(state, l));
    held_ = 0;
  }

  const SegmentJob& job_;
  const Count column_;
  const double *const x_, *const end_;
  const double* from_[W];
  Count row_[W];
  std::int64_t length_[W];
  int held_ = 0;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
