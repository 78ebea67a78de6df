// The gradients of order statistics, as in src/order/order_gradient.cpp. A statistic is a mean of one or two values,
// and these values receive the incoming gradient of the statistic.
#pragma once
#include <kernops/cuda/segments/ordered_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// If `difference` is true, the statistic is the second quantile minus the first quantile. One thread adds all parts of
// the gradient of a segment.
template <class Result, bool difference> struct OrderGradient : BySegment<OrderGradient<Result, difference>> {
  static constexpr bool placed = true;
  template <class V> static __device__ __forceinline__ auto key(const SortRun& job, long long row) {
    return Keyed<typename Sorted<V>::T>{job}.equal(Sorted<V>::of(value_at<V>(job.run, 0, row)), true);
  }
  template <class X> static __device__ __forceinline__ void add(const X& x, long long k, double eta) {
    static_cast<Result*>(x.job.run.out)[x.row(int(k))] += Result(eta);
  }
  template <class T, class X, class G> static __device__ __forceinline__ void give(const X& x, const G& team) {
    const OrderHow& how = x.job.how;
    const Numbers<X> numbers(x);
    const int count = numbers.count;
    const bool gap = numbers.nas() + numbers.nans() > 0;
    if (team.rank() != 0 || count == 0 || (gap && !how.skip_missing)) return;
    const double* const incoming = how.incoming + result_row(x.job.run, int(x.segment));
    for (int o = 0; o < how.outputs; ++o) {
      const double own = incoming[difference ? 0 : o * how.incoming_apart], eta = difference && o == 0 ? -own : own;
      if (!how.probs) {
        const long long k = how.nth > 0 ? how.nth - 1 + o : count + how.nth;
        if (k >= 0 && k < count) add(x, k, eta);
        continue;
      }
      const QuantilePosition at = quantile_position(how.type, count, how.probs[o]);
      add(x, at.lower, product(eta, 1 - at.share));
      if (at.share > 0) add(x, at.upper, product(eta, at.share));
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
