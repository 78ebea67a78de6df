// Sums with different compensation of rounding errors, in the form of reductions.h.
#pragma once
#include <kernops/state.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Knuth's TwoSum: sum + error is exactly a + b.
template <class V> KERNOPS_FN void two_sum(V a, V b, V& sum, V& error) {
  sum = a + b;
  const V part = sum - a;
  error = (a - (sum - part)) + (b - part);
}

// Adds x to the sum v[0] + v[1], where v[1] is the accumulated rounding error of v[0]. The error of an infinite sum is
// meaningless.
template <class S, class V> KERNOPS_FN void add_compensated(S& s, V x) {
  V sum, error;
  two_sum(s.v[0], x, sum, error);
  s.v[0] = sum;
  s.v[1] += error;
}
template <class S> KERNOPS_FN auto compensated(const S& s) { return s.v[0] - s.v[0] == 0 ? s.v[0] + s.v[1] : s.v[0]; }

struct DirectSum : Settled<1> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[0] += x; }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) { s.v[0] += o.v[0]; }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { s.v[0] += o.v[0]; }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return s.v[0]; }
};

// A sum with compensation of each term (Kahan 1965, in Neumaier's order-free form).
struct KahanSum : Settled<2> {
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { add_compensated(s, x); }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_compensated(s, o.v[0]);
    s.v[1] += o.v[1];
  }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { merge(s, o); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return compensated(s); }
};

// Plain sums within a tile, and compensated addition of the sums of tiles: this method is nearly as fast as plain sums,
// and nearly as accurate as compensated sums.
struct BlockSum {
  static constexpr int values = 3, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) { s.v[0] = s.v[1] = s.v[2] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) { s.v[2] += x; }
  template <class S> static KERNOPS_FN void settle(S& s) {
    add_compensated(s, s.v[2]);
    s.v[2] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    add_compensated(s, o.v[0]);
    s.v[1] += o.v[1];
    s.v[2] += o.v[2];
  }
  template <class S> static KERNOPS_FN void absorb(S& s, const S& o) { s.v[2] += o.v[2]; }
  template <class S> static KERNOPS_FN double finish(S s, int) { return settle(s), compensated(s); }
};

// The number of values, which is exact beyond 2^24 even in float.
struct CountAll : BlockSum {
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V, I) { s.v[2] += V(1); }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return double(s.v[0]) + double(s.v[1]) + double(s.v[2]);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
