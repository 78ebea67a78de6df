// Sums of a likelihood and its derivatives over sets (a set is a point and its neighbours).
//
// Let K = L L' be the covariance of a set of M points, z = L^-1 y, and u the last row of L^-1. The set contributes two
// terms: log det = 2 log L_MM, and the square of z_M. A change dK of the covariance changes these two terms by a_M and
// by -2 z_M (sum_{k<M} a_k z_k + a_M z_M / 2), where a = L^-1 dK u. The expected information of two changes with
// vectors a and b is sum_{k<M} a_k b_k + a_M b_M / 2 (Guinness 2021). The stored information is doubled, to match -2
// log-likelihood.
#pragma once
#include <kernops/cpu/sets/changes.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetSums {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  explicit SetSums(const SetJob& job)
      : job_(job),
        group_(job),
        changes_(job, group_),
        sums_(std::size_t(job.sums())),
        moved_(std::size_t(job.columns)) {}

  // Computes the sums over the sets `begin` .. `end` - 1. If a set is singular, returns false, and `bad` receives the
  // number of the first such set.
  bool sum(Count begin, Count end, double* to, Count* bad) {
    for (int n = 0; n < job_.sums(); ++n) sums_.data()[n] = 0;
    for (Count set = begin; set < end; set += W) {
      group_.take(set, int(end - set < W ? end - set : W));
      const Mask<double> regular = group_.inverse_sd() < V(INFINITY);
      for (int lane = 0; lane < group_.count(); ++lane)
        if (!regular.lane(lane)) return *bad = group_.set(lane), false;
      add_products();
      if (job_.parameters) add_slopes();
    }
    for (int n = 0; n < job_.sums(); ++n) to[n] = total(sums_.data()[n]);
    return true;
  }

 private:
  static double total(V x) {
    double sum = 0;
    for (int lane = 0; lane < W; ++lane) sum += x.lane(lane);
    return sum;
  }

  void add(int place, V x) { sums_.data()[place] += select(group_.active(), x, V(0)); }

  void add_products() {
    const SetColumns z = group_.columns();
    const int last = group_.size() - 1;
    int place = 0;
    add(place++, V(-2) * log(group_.inverse_sd()));
    for (int c = 0; c < job_.columns; ++c)
      for (int e = 0; e <= c; ++e) add(place++, z.element(last, c) * z.element(last, e));
  }

  void add_slopes() {
    const SetColumns a = changes_.solve(), z = group_.columns();
    const int last = group_.size() - 1;
    int place = 1 + job_.products();
    for (int p = 0; p < job_.parameters; ++p) {
      add(place++, a.element(last, p));
      V* moved = moved_.data();
      for (int c = 0; c < job_.columns; ++c) moved[c] = -half_last(a, p, z, c);
      for (int c = 0; c < job_.columns; ++c)
        for (int e = 0; e <= c; ++e) add(place++, moved[c] * z.element(last, e) + moved[e] * z.element(last, c));
    }
    add_information(a, place);
  }

  // Adds the information of a set, a few blocks of products at a time.
  void add_information(const SetColumns& a, int place) {
    constexpr int B = SetBlock::size;
    const int last = group_.size() - 1, rows = SetColumns::rows(job_.parameters);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j <= i; ++j) {
        SetBlock opposite{};
        for (int k = 0; k < a.blocks; ++k) opposite.subtract_product(a.row(i)[k], a.row(j)[k]);
        for (int p = i * B; p < (i + 1) * B && p < job_.parameters; ++p)
          for (int q = j * B; q < (j + 1) * B && q <= p; ++q)
            add(place + p * (p + 1) / 2 + q,
                V(-2) * opposite.at[q - j * B][p - i * B] - a.element(last, p) * a.element(last, q));
      }
  }

  // Computes sum_{k<M} a_k b_k + a_M b_M / 2 for column p of a and column q of b.
  KERNOPS_INLINE V half_last(const SetColumns& a, int p, const SetColumns& b, int q) const {
    const int last = group_.size() - 1;
    V sum = V(0.5) * a.element(last, p) * b.element(last, q);
    for (int k = 0; k < last; ++k) sum = fma(a.element(k, p), b.element(k, q), sum);
    return sum;
  }

  const SetJob& job_;
  SetGroup group_;
  SetChanges changes_;
  Buffer<V> sums_, moved_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
