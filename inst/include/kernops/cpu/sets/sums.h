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
        scaled_(std::size_t(2) * slopes_.pairs()),
        changes_(std::size_t(entries(job)) * group_.most()),
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
  static int entries(const SetJob& job) {
    int sum = 0;
    if (job.parameters)
      for (int n = 0; n < job.slopes.summands.count; ++n) sum += job.slopes.summands.items[n].size;
    return sum;
  }

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
    add_information(a, place);
  }

  // Blocks of products at a time.
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

  // sum_{k<M} a_k b_k + a_M b_M / 2, of two columns.
  KERNOPS_INLINE V half_last(const SetColumns& a, int p, const SetColumns& b, int q) const {
    const int last = group_.size() - 1;
    V sum = V(0.5) * a.element(last, p) * b.element(last, q);
    for (int k = 0; k < last; ++k) sum = fma(a.element(k, p), b.element(k, q), sum);
    return sum;
  }

  // dK u for each entry of the summands of the slopes but for their factor, from the lower triangle of dK.
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

  // Point a with the points from .. from + count, of which a may be the last.
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
        w[a - from] += others < count ? fma(slope(others), term.times ? ub[others] : u[others], own) : own;
      }
    }
  }

  // w += slopes ua; returns slopes . ub
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

  SetColumns solve_changes() {
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

  const SetJob& job_;
  SetGroup group_;
  PairValues slopes_;
  Buffer<V> sums_, u_, moved_, scaled_, changes_;
  Buffer<SetBlock> solved_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
