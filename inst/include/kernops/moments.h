// Means, variances and standard deviations, in the form of reductions.h.
#pragma once
#include <kernops/sums.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// A running sum and two counts of values: for the current tile, and for all earlier tiles.
template <class Total> struct MeanOf {
  static constexpr int values = Total::values + 2, indices = 0, outputs = 1, tile = Total::values, all = tile + 1;
  template <class S> static KERNOPS_FN void start(S& s) { Total::start(s), s.v[tile] = s.v[all] = 0; }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I j) {
    Total::add(s, x, j);
    s.v[tile] += V(1);
  }
  template <class S> static KERNOPS_FN void settle(S& s) {
    Total::settle(s);
    s.v[all] += s.v[tile];
    s.v[tile] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, const S& o) {
    Total::merge(s, o);
    s.v[tile] += o.v[tile];
    s.v[all] += o.v[all];
  }
  template <class S> static KERNOPS_FN double finish(const S& s, int) {
    return Total::finish(s, 0) / (double(s.v[tile]) + double(s.v[all]));
  }
};
using Mean = MeanOf<BlockSum>;

// A tile is a few successive values. The state of a tile consists of the number of values, a shift (the first value of
// the tile), and the sums of x - shift and of (x - shift)^2. Because the shift is one of the values of the tile, the
// variance of the tile, which is a difference of these sums, loses few digits. The state of earlier tiles consists of
// the number of values, the mean (as a shift and a correction) and the sum of squared deviations; states are joined as
// in Chan, Golub and LeVeque (1983).
struct Variance {
  static constexpr int values = 8, indices = 0, outputs = 1;
  template <class S> static KERNOPS_FN void start(S& s) {
    for (auto& v : s.v) v = 0;
  }
  template <class S, class V, class I> static KERNOPS_FN void add(S& s, V x, I) {
    s.v[0] = select(s.v[1] == V(0), x, s.v[0]);
    const V d = x - s.v[0];
    s.v[1] += V(1);
    s.v[2] += d;
    // an explicit fma(), so that all compiled copies of this code round in the same way
    s.v[3] = fma(d, d, s.v[3]);
  }
  template <class S, class V> static KERNOPS_FN void join(S& s, V n, V shift, V above, V squares) {
    const V total = s.v[4] + n, share = n / total, d = (shift - s.v[5]) + (above - s.v[6]);
    const auto fresh = s.v[4] == V(0), nothing = n == V(0);
    const V both = s.v[7] + fma(d * d, s.v[4] * share, squares), moved = fma(d, share, s.v[6]);
    s.v[4] = total;
    s.v[5] = select(fresh, shift, s.v[5]);
    s.v[6] = select(nothing, s.v[6], select(fresh, above, moved));
    s.v[7] = select(nothing, s.v[7], select(fresh, squares, both));
  }
  template <class S> static KERNOPS_FN void settle(S& s) {
    const auto n = s.v[1], above = s.v[2] / n;
    decltype(s.v[2] * above) zero = 0;
    join(s, n, s.v[0], above, max(fma(-s.v[2], above, s.v[3]), zero));
    s.v[0] = s.v[1] = s.v[2] = s.v[3] = 0;
  }
  template <class S> static KERNOPS_FN void merge(S& s, S o) {
    settle(s), settle(o);
    join(s, o.v[4], o.v[5], o.v[6], o.v[7]);
  }
  template <class S> static KERNOPS_FN double finish(S s, int) {
    settle(s);
    return s.v[4] > 1 ? double(s.v[7]) / (double(s.v[4]) - 1) : not_a_number<double>();
  }
};

struct Deviation : Variance {
  template <class S> static KERNOPS_FN double finish(const S& s, int) { return sqrt(Variance::finish(s, 0)); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
