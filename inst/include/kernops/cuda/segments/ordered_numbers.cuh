// The sorted numbers of a segment and their quantiles, with or without weights.
#pragma once
#include <kernops/quantile_positions.h>
#include <kernops/cuda/segments/sorted_values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The numbers of a sorted segment, in which values of weight 0, NA and NaN follow the numbers.
template <class X> struct Numbers {
  const X& x;
  const int count, left_out_end, na_end;
  explicit __device__ __forceinline__ Numbers(const X& x)
      : x(x), count(x.below(X::Keys::left_out)), left_out_end(x.below(X::Keys::na)), na_end(x.below(X::Keys::nan)) {}
  __device__ __forceinline__ int nas() const { return na_end - left_out_end; }
  __device__ __forceinline__ int nans() const { return x.length - na_end; }
  __device__ __forceinline__ double operator[](long long k) const { return x.value(int(k)); }
  __device__ __forceinline__ bool begins_run(int k) const { return k == 0 || x.key(k - 1) != x.key(k); }
};

// Cumulative weights, which are added one after another as on the CPU.
template <class X, class G> struct Totals {
  const Numbers<X>& numbers;
  const G& team;

  // Returns the position of the first value whose cumulative weight reaches the limit or, if `exceeds` is true, exceeds
  // the limit. If no cumulative weight is large enough, returns the last position. `total` receives the cumulative
  // weight at the returned position.
  template <bool exceeds> __device__ __forceinline__ int first(double limit, double& total) const {
    constexpr int lanes = G::across;
    const int lane = team.rank() % lanes;
    double sum = 0, own = 0;
    for (int base = 0; base < numbers.count; base += lanes) {
      const double mine = base + lane < numbers.count ? numbers.x.weight(base + lane) : 0;
      KERNOPS_UNROLL
      for (int n = 0; n < lanes; ++n) {
        sum += lanes == 1 ? mine : __shfl_sync(all_lanes, mine, n);
        if (n == lane) own = sum;
      }
      const bool reached = base + lane < numbers.count && (exceeds ? own > limit : own >= limit);
      if (lanes == 1) {
        if (reached) return total = own, base;
        continue;
      }
      const unsigned votes = __ballot_sync(all_lanes, reached);
      if (votes) {
        const int winner = __ffs(int(votes)) - 1;
        return total = __shfl_sync(all_lanes, own, winner), base + winner;
      }
    }
    return total = sum, numbers.count - 1;
  }
  __device__ __forceinline__ double sum() const {
    double all;
    first<true>(infinity<double>(), all);
    return all;
  }
};

template <class X, class G>
__device__ __forceinline__ double weighted_quantile(const Totals<X, G>& totals, double sum, int type, double p) {
  constexpr double fuzz = 1e-14;
  const Numbers<X>& numbers = totals.numbers;
  double total;
  const auto from = [&](double limit) {
    const double near = limit - product(fuzz, sum);
    return totals.template first<false>(near > 1e-300 ? near : 1e-300, total);
  };
  if (type > 2) {
    const QuantilePosition at = quantile_position(type, sum, p);
    const double lower = numbers[from(double(at.lower) + 1)], upper = numbers[from(double(at.upper) + 1)];
    return between(lower, upper, at.share);
  }
  const double target = product(p, sum);
  const int k = from(target);
  if (type == 1 || fabs(total - target) > product(fuzz, sum)) return numbers[k];
  const double reached = total;
  return between(numbers[k], numbers[totals.template first<true>(reached, total)], 0.5);
}

// Calls give(k, quantile) for each probability.
template <bool weighted, class X, class G, class Give>
__device__ __forceinline__ void each_quantile(const Numbers<X>& numbers, const G& team, int type, const double* probs,
                                              int count, Give give) {
  if constexpr (weighted) {
    if (!team.leads()) return;
    const Totals<X, G> totals{numbers, team};
    const double sum = totals.sum();
    for (int k = 0; k < count; ++k)
      give(k, sum > 0 && sum < infinity<double>() ? weighted_quantile(totals, sum, type, probs[k])
                                                  : not_a_number<double>());
  } else {
    for (int k = team.rank(); k < count; k += team.size()) {
      const QuantilePosition at = quantile_position(type, numbers.count, probs[k]);
      give(k, between(numbers[at.lower], numbers[at.upper], at.share));
    }
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
