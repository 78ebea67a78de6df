// The derivative of the last row u of L^-1 with respect to the covariance K = L L' of sets (a set is a point and its
// neighbours). For each parameter, the derivative is computed from L^-1 dK u, where dK is the derivative of K.
#pragma once
#include <kernops/cpu/sets/group.h>

namespace kernops {
inline namespace KERNOPS_ISA {

class SetChanges {
  using V = Pack<double>;

 public:
  SetChanges(const SetJob& job, const SetGroup& group)
      : job_(job),
        group_(group),
        // without parameters, `slopes_` is not used, so any formula is valid
        slopes_(job.parameters ? job.slopes : job.covariance, group.most()),
        u_(std::size_t(group.most())),
        scaled_(std::size_t(2) * slopes_.pairs()),
        changes_(std::size_t(entries(job)) * group.most()),
        solved_(std::size_t(SetColumns::rows(job.parameters)) * (group.most() / SetBlock::size)) {}

  // Computes L^-1 dK u, one column for each parameter.
  SetColumns solve() {
    contrast_weights(group_.triangle(), u_.data());
    for (int a = 0; a < group_.size(); ++a) u_.data()[a] *= group_.inverse_sd();
    change();
    const int n = group_.size();
    const SetColumns a{solved_.data(), n / SetBlock::size};
    a.clear(job_.parameters);
    const V* w = changes_.data();
    for (int t = 0; t < job_.slopes.summands.count; ++t) {
      const Summand& term = job_.slopes.summands.items[t];
      for (int e = 0; e < term.size; ++e, w += group_.most()) {
        const V factor = slopes_.uniform(term.factor, e);
        for (int k = 0; k < n; ++k) a.element(k, term.at + e) = fma(factor, w[k], a.element(k, term.at + e));
      }
    }
    if (job_.nugget >= 0)
      for (int k = 0; k < n; ++k) a.element(k, job_.nugget) += group_.noise_slope(k) * u_.data()[k];
    for (int k = 0; !group_.everywhere(k); ++k)
      for (int p = 0; p < job_.parameters; ++p) a.element(k, p) = select(group_.has(k), a.element(k, p), V(0));
    a.solve(group_.triangle(), job_.parameters);
    return a;
  }

 private:
  static int entries(const SetJob& job) {
    int sum = 0;
    if (job.parameters)
      for (int n = 0; n < job.slopes.summands.count; ++n) sum += job.slopes.summands.items[n].size;
    return sum;
  }

  // The slopes (the derivatives of the covariance) are sums of summands. For each entry of each summand, computes dK u,
  // where dK has the values of this entry for all pairs of points. Only the lower triangle of dK is evaluated. solve()
  // multiplies the products by the uniform factors of the summands.
  void change() {
    const int n = group_.size(), most = group_.most();
    slopes_.take_points(group_.coordinates(), n);
    for (int k = 0; k < entries(job_) * most; ++k) changes_.data()[k] = 0;
    for (int a = 0; a < n; ++a) {
      if (group_.nowhere(a)) continue;
      for (int from = 0; from <= a; from += slopes_.pairs()) {
        const int count = a + 1 - from < slopes_.pairs() ? a + 1 - from : slopes_.pairs();
        change_pairs(slopes_.summands(a, from, count), a, from, count);
      }
    }
  }

  // Adds the terms of dK u for the pairs of point a and the points `from` .. `from` + count - 1. The last of these
  // points may be a.
  void change_pairs(const Operand<double>* slots, int a, int from, int count) {
    const V *u = u_.data() + from, ua = u_.data()[a];
    const int others = from + count > a ? count - 1 : count;
    V *w = changes_.data() + from, *ub = scaled_.data(), *scaled = ub + slopes_.pairs();
    for (int n = 0; n < job_.slopes.summands.count; ++n) {
      const Summand& term = job_.slopes.summands.items[n];
      for (int b = 0; term.times && b < count; ++b) {
        const V times = PairValues::at(slots[term.times], 0, b);
        ub[b] = times * u[b], scaled[b] = times * ua;
      }
      for (int k = 0; k < term.size; ++k, w += group_.most()) {
        const auto slope = [&](int b) { return PairValues::at(slots[term.value], k, b); };
        const V own = term.times ? change_pair(
                                       slope, others, ub, [&](int b) { return scaled[b]; }, w)
                                 : change_pair(
                                       slope, others, u, [&](int) { return ua; }, w);
        w[a - from] +=
            others < count ? fma(slope(others) * V(job_.diagonal), term.times ? ub[others] : u[others], own) : own;
      }
    }
  }

  // Adds the slopes times `ua` to w, and returns the inner product of the slopes and `ub`.
  template <class Slope, class Own>
  static KERNOPS_INLINE V change_pair(const Slope& slope, int others, const V* ub, const Own& ua, V* w) {
    V sum = 0;
    for (int b = 0; b < others; ++b) {
      const V here = slope(b);
      sum = fma(here, ub[b], sum);
      w[b] = fma(here, ua(b), w[b]);
    }
    return sum;
  }

  const SetJob& job_;
  const SetGroup& group_;
  PairValues slopes_;
  Buffer<V> u_, scaled_, changes_;
  Buffer<SetBlock> solved_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
