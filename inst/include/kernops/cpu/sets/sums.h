// What a likelihood and its derivatives sum over sets.
//
// With z = L^-1 y and u the last row of L^-1, a set contributes log det = 2 log L_MM and the square of z_M. A change dK
// changes them by a_M and -2 z_M (sum_{k<M} a_k z_k + a_M z_M / 2), where a = L^-1 dK u; two changes have the expected
// information sum_{k<M} a_k b_k + a_M b_M / 2 (Guinness 2021). The last is summed twice, as that of -2 log-likelihood.
#pragma once
#include <kernops/cpu/sets/group.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetSums {
  using V = Pack<double>;
  static constexpr int W = V::width;

 public:
  explicit SetSums(const SetJob& job)
      : job_(job),
        group_(job),
        slopes_(job.parameters ? job.slopes : job.covariance, group_.most()),  // idle without parameters
        sums_(std::size_t(job.sums())),
        u_(std::size_t(group_.most())),
        moved_(std::size_t(job.columns)),
        changes_(std::size_t(job.parameters) * group_.most()),
        solved_(std::size_t(SetColumns::rows(job.parameters)) * (group_.most() / SetBlock::size)) {}

  // The sums over sets begin .. end; false at once where a covariance is singular, with the first such set.
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
    contrast_weights(group_.triangle(), u_.data());
    for (int a = 0; a < group_.size(); ++a) u_.data()[a] *= group_.inverse_sd();
    change();
    const SetColumns a = solve_changes(), z = group_.columns();
    const int last = group_.size() - 1;
    int place = 1 + job_.products();
    for (int p = 0; p < job_.parameters; ++p) {
      add(place++, a.element(last, p));
      V* moved = moved_.data();
      for (int c = 0; c < job_.columns; ++c) moved[c] = -half_last(a, p, z, c);
      for (int c = 0; c < job_.columns; ++c)
        for (int e = 0; e <= c; ++e) add(place++, moved[c] * z.element(last, e) + moved[e] * z.element(last, c));
    }
    for (int p = 0; p < job_.parameters; ++p)
      for (int q = 0; q <= p; ++q) add(place++, V(2) * half_last(a, p, a, q));
  }

  // sum_{k<M} a_k b_k + a_M b_M / 2, of two columns.
  KERNOPS_INLINE V half_last(const SetColumns& a, int p, const SetColumns& b, int q) const {
    const int last = group_.size() - 1;
    V sum = V(0.5) * a.element(last, p) * b.element(last, q);
    for (int k = 0; k < last; ++k) sum = fma(a.element(k, p), b.element(k, q), sum);
    return sum;
  }

  // dK u for each parameter, from the lower triangle of dK.
  void change() {
    const int n = group_.size(), most = group_.most();
    const V* u = u_.data();
    slopes_.take_points(group_.coordinates(), n);
    for (int p = 0; p < job_.parameters; ++p)
      for (int a = 0; a < n; ++a) changes_.data()[p * most + a] = 0;
    for (int a = 0; a < n; ++a) {
      if (group_.nowhere(a)) continue;
      const Operand<double>& row = slopes_.row(a);
      for (int p = 0; p < job_.parameters; ++p) {
        V* w = changes_.data() + p * most;
        V own = 0;
        for (int b = 0; b < a; ++b) {
          const V slope = PairValues::at(row, p, b);
          own = fma(slope, u[b], own);
          w[b] = fma(slope, u[a], w[b]);
        }
        w[a] += fma(PairValues::at(row, p, a), u[a], own);
      }
      if (job_.nugget >= 0) changes_.data()[job_.nugget * most + a] += group_.noise_slope(a) * u[a];
    }
  }

  SetColumns solve_changes() {
    const int n = group_.size();
    const SetColumns a{solved_.data(), n / SetBlock::size};
    a.clear(job_.parameters);
    for (int p = 0; p < job_.parameters; ++p)
      for (int k = 0; k < n; ++k)
        if (!group_.nowhere(k)) a.element(k, p) = select(group_.has(k), changes_.data()[p * group_.most() + k], V(0));
    a.solve(group_.triangle(), job_.parameters);
    return a;
  }

  const SetJob& job_;
  SetGroup group_;
  PairValues slopes_;
  Buffer<V> sums_, u_, moved_, changes_;
  Buffer<SetBlock> solved_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
