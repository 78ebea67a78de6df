// The statistics of src/order/order_statistics.def for sorted values. The results have the same bits as on the CPU.
#pragma once
#include <kernops/cuda/segments/ordered_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

__device__ __forceinline__ double middle_of(double lower, double upper) {
  const double sum = lower + upper;
  return fabs(sum) == infinity<double>() ? lower / 2 + upper / 2 : sum / 2;
}

template <bool weighted> struct median {
  static constexpr bool placed = weighted, spread = true;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    const double half = 0.5;
    if constexpr (weighted)
      each_quantile<true>(numbers, team, 2, &half, 1, [&](int, double result) { numbers.x.give(0, result); });
    else if (team.rank() == 0)
      numbers.x.give(0, middle_of(numbers[(numbers.count - 1) / 2], numbers[numbers.count / 2]));
  }
};

template <bool weighted> struct quantiles {
  static constexpr bool placed = weighted, spread = true;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    const OrderHow& how = numbers.x.job.how;
    each_quantile<weighted>(numbers, team, how.type, how.probs, how.outputs,
                            [&](int k, double result) { numbers.x.give(k, result); });
  }
};

template <bool weighted> struct quartile_range {
  static constexpr bool placed = weighted, spread = true;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    const double quarters[] = {0.25, 0.75};
    double ends[2] = {0, 0};
    const auto keep = [&](int k, double result) { ends[k] = result; };
    if constexpr (weighted)
      each_quantile<true>(numbers, team, numbers.x.job.how.type, quarters, 2, keep);
    else if (team.rank() == 0)
      each_quantile<false>(numbers, Team<1>(), numbers.x.job.how.type, quarters, 2, keep);
    if (team.rank() == 0) numbers.x.give(0, ends[1] - ends[0]);
  }
};

// The distances between the centre and the values on one side of the centre, in increasing order.
template <class X> struct Distances {
  const Numbers<X>& numbers;
  double centre;
  int from, step;
  __device__ __forceinline__ double operator[](int k) const { return fabs(numbers[from + k * step] - centre); }
};

// The median of the distances from the centre. On each side of the centre, the distances are already sorted.
template <bool> struct deviation {
  static constexpr bool placed = false, spread = true;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    if (team.rank() != 0) return;
    const int count = numbers.count, half = (count - 1) / 2;
    const double centre = middle_of(numbers[half], numbers[count / 2]);
    if (!(fabs(centre) < infinity<double>())) return numbers.x.give(0, not_a_number<double>());
    const int left = half + 1, right = count - left;
    const Distances<X> a{numbers, centre, half, -1}, b{numbers, centre, left, 1};
    const auto smallest = [&](int k) {
      const int of_a = share_of_first(a, left, b, right, k), of_b = k - of_a;
      const bool in_a = of_a < left && (of_b == right || !(b[of_b] < a[of_a]));
      return in_a ? a[of_a] : b[of_b];
    };
    numbers.x.give(0, product(middle_of(smallest(half), smallest(count / 2)), 1.4826));
  }
};

template <bool> struct nth_smallest {
  static constexpr bool placed = false, spread = true;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    const long long nth = numbers.x.job.how.nth, k = nth > 0 ? nth - 1 : numbers.count + nth;
    if (team.rank() == 0) numbers.x.give(0, k >= 0 && k < numbers.count ? numbers[k] : missing());
  }
};

// The most frequent value or, if there are weights, the value with the largest total weight. If several values qualify,
// the result is the first value in the order of x.
template <bool weighted> struct most_frequent {
  static constexpr bool placed = true, spread = false;
  template <class X> static __device__ __forceinline__ Frequency frequency(const X& x, int k, int end) {
    double weight = 0;
    for (int n = k; weighted && n < end; ++n) weight += x.weight(n);
    return {weighted ? weight : double(end - k), x.place(k), k};
  }
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    const X& x = numbers.x;
    const Frequency none{-1, 0, 0};
    Frequency most = none;
    const MoreFrequent join;
    for (int k = team.rank(); k < numbers.count; k += team.size())
      if (numbers.begins_run(k)) most = join(most, frequency(x, k, x.run_end(k)));
    if (!team.joined(most, none, join)) return;
    if (!x.job.how.skip_missing) {
      if (numbers.nas() > 0) most = join(most, frequency(x, numbers.left_out_end, numbers.na_end));
      if (numbers.nans() > 0) most = join(most, frequency(x, numbers.na_end, x.length));
    }
    x.give(0, x.value(most.index));
  }
};

template <bool> struct count_distinct {
  static constexpr bool placed = false, spread = false;
  template <class X, class G> static __device__ __forceinline__ void of(const Numbers<X>& numbers, const G& team) {
    int count = 0;
    for (int k = team.rank(); k < numbers.count; k += team.size()) count += numbers.begins_run(k);
    if (!team.joined(count, 0, Sum())) return;
    if (!numbers.x.job.how.skip_missing) count += (numbers.nas() > 0) + (numbers.nans() > 0);
    numbers.x.give(0, count);
  }
};

// The result of a segment. No statistic is computed if the segment has no numbers, or if missing values make the result
// NA or NaN.
template <class Statistic, bool weighted> struct OrderStatistic : BySegment<OrderStatistic<Statistic, weighted>> {
  static constexpr bool placed = Statistic::placed, spread = Statistic::spread;
  template <class V> static __device__ __forceinline__ auto key(const SortRun& job, long long row) {
    using Keys = Keyed<typename Sorted<V>::T>;
    if (weighted && partner_at<double>(job.run, 0, row) == 0) return Keys::left_out;
    return Keys{job}.equal(Sorted<V>::of(value_at<V>(job.run, 0, row)), true);
  }
  template <class T, class X, class G> static __device__ __forceinline__ void give(const X& x, const G& team) {
    const OrderHow& how = x.job.how;
    const Numbers<X> numbers(x);
    const bool gap = numbers.nas() + numbers.nans() > 0, spoilt = spread && gap && !how.skip_missing;
    if (!spoilt && (numbers.count > 0 || (gap && !how.skip_missing))) return Statistic::of(numbers, team);
    const double result = !spoilt ? how.empty : numbers.nas() > 0 ? missing() : not_a_number<double>();
    for (int k = team.rank(); k < how.outputs; k += team.size()) x.give(k, result);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
