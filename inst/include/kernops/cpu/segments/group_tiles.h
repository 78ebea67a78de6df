// The small states of groups whose values come in any order. Every `group_block` values of a group form a tile. The
// values of a tile are summed without compensation. A full tile is joined to the State (segment_reductions.h) of the
// earlier values of the group. Therefore a result depends only on the values of its group and their order, and not on
// values of other groups.
//
//   start()             makes the tile empty
//   add<skip>(x, w, n)  adds a value (and its weight) to a tile of n values
//   put(s, n)           adds the n values of the tile to the state s; the caller then calls R::settle(s)
//   join(other)         adds the values of another tile, if tiles can be added
//   result(n)           returns the statistic of the n values
#pragma once
#include <kernops/cpu/segments/states.h>
#include <kernops/missing.h>

namespace kernops {
inline namespace KERNOPS_ISA {

constexpr int group_block = 128;

// The tile of a reduction R. Statistics that are exact, or whose state compensates rounding errors, need no tiles.
template <class R> struct GroupTile {
  static constexpr bool fills = false, adds = false;
  double v[R::values];
  void start() { R::start(*this); }
  template <bool> KERNOPS_INLINE void add(double x, double, int) { R::add(*this, x, 0); }
  template <class S> void put(S& s, int) const {
    for (int n = 0; n < R::values; ++n) s.v[n] = v[n];
  }
};

template <> struct GroupTile<CountAll> {
  static constexpr bool fills = false, adds = false;
  Count count;
  void start() { count = 0; }
  template <bool> KERNOPS_INLINE void add(double, double, int) { ++count; }
  template <class S> void put(S& s, int) const { s.v[2] = double(count); }
};

template <> struct GroupTile<BlockSum> {
  static constexpr bool fills = true, adds = true;
  double sum;
  void start() { sum = 0; }
  template <bool> KERNOPS_INLINE void add(double x, double, int) { sum += x; }
  KERNOPS_INLINE void join(const GroupTile& other) { sum += other.sum; }
  KERNOPS_INLINE double result(int) const { return sum; }
  template <class S> void put(S& s, int) const { s.v[2] = sum; }
};

template <> struct GroupTile<Mean> : GroupTile<BlockSum> {
  KERNOPS_INLINE double result(int n) const { return sum / n; }
  template <class S> void put(S& s, int n) const { s.v[2] = sum, s.v[Mean::tile] = n; }
};

template <> struct alignas(32) GroupTile<Variance> {
  static constexpr bool fills = true, adds = false;
  double shift, sum, squares;
  void start() { shift = sum = squares = 0; }
  template <bool> KERNOPS_INLINE void add(double x, double, int n) {
    shift = n == 0 ? x : shift;
    const double d = x - shift;
    sum += d, squares = fma(d, d, squares);
  }
  template <class S> void put(S& s, int n) const { s.v[0] = shift, s.v[1] = n, s.v[2] = sum, s.v[3] = squares; }
};
template <> struct GroupTile<Deviation> : GroupTile<Variance> {};

// The tile of a weighted mean: sums of weighted values (the term Times of segment_terms.h) and of weights (the term
// Mass).
struct WeightedMean {
  static constexpr int values = 6, indices = 0, outputs = 1;
  struct Part {
    double* v;
  };
  template <class S> static void start(S& s) {
    for (auto& v : s.v) v = 0;
  }
  template <class S> static void settle(S& s) {
    for (int n = 0; n < 6; n += 3) {
      Part part{s.v + n};
      BlockSum::settle(part);
    }
  }
  template <class S> static void merge(S& s, S o) {
    for (int n = 0; n < 6; n += 3) {
      Part part{s.v + n};
      BlockSum::merge(part, Part{o.v + n});
    }
  }
  template <class S> static double finish(S s, int) {
    return BlockSum::finish(Part{s.v}, 0) / BlockSum::finish(Part{s.v + 3}, 0);
  }
};
template <> struct alignas(16) GroupTile<WeightedMean> {
  static constexpr bool fills = true, adds = true;
  double sum, mass;
  void start() { sum = mass = 0; }
  template <bool skip> KERNOPS_INLINE void add(double x, double w, int) {
    const double term = w == 0 ? 0 : x * w, weight = x == x || w == 0 ? w : x;
    sum += !skip || term == term ? term : 0, mass += !skip || weight == weight ? weight : 0;
  }
  KERNOPS_INLINE void join(const GroupTile& other) { sum += other.sum, mass += other.mass; }
  KERNOPS_INLINE double result(int) const { return sum / mass; }
  KERNOPS_INLINE void add_finite(double x, double w) { sum += x * w, mass += w; }
  template <class S> void put(S& s, int) const { s.v[2] = sum, s.v[5] = mass; }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
