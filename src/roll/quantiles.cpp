// Moving quantiles: the numbers of a window are kept in order.
#include <kernops/missing.h>
#include <kernops/quantile_positions.h>
#include <kernops/state.h>

#include <cmath>

#include "roll/roll.h"

namespace kernops {
namespace {

// Numbers in order, in buckets of limited size.
class Ordered {
 public:
  Ordered() { buckets_.emplace_back(); }

  void insert(double x) {
    const size_t b = bucket_of(x);
    std::vector<double>& bucket = buckets_[b];
    bucket.insert(bucket.begin() + place(bucket, x), x);
    ++count_;
    if (bucket.size() > most) split(b);
  }

  void erase(double x) {
    const size_t b = bucket_of(x);
    std::vector<double>& bucket = buckets_[b];
    bucket.erase(bucket.begin() + place(bucket, x));
    --count_;
    if (bucket.empty() && buckets_.size() > 1) buckets_.erase(buckets_.begin() + Count(b));
  }

  // The same as both.
  void replace(double gone, double x) {
    const size_t b = bucket_of(gone);
    if (b != bucket_of(x)) return erase(gone), insert(x);
    std::vector<double>& bucket = buckets_[b];
    double *const all = bucket.data(), *from = all + place(bucket, gone), *to = all + place(bucket, x);
    if (from < to)
      std::copy(from + 1, to--, from);
    else
      std::copy_backward(to, from, from + 1);
    *to = x;
  }

  double operator[](Count k) const {
    size_t b = 0;
    for (; k >= Count(buckets_[b].size()); ++b) k -= Count(buckets_[b].size());
    return buckets_[b][size_t(k)];
  }

  Count count() const { return count_; }

 private:
  static constexpr size_t most = 256, few = 32;

  // The first bucket that ends with x or more.
  size_t bucket_of(double x) const {
    const auto ends_before = [](const std::vector<double>& bucket, double x) { return bucket.back() < x; };
    if (buckets_.size() == 1) return 0;
    const auto b = std::lower_bound(buckets_.begin(), buckets_.end() - 1, x, ends_before);
    return size_t(b - buckets_.begin());
  }

  // How many numbers are less than x; counting few takes less time than guessing branches.
  static Count place(const std::vector<double>& bucket, double x) {
    const double* first = bucket.data();
    size_t n = bucket.size();
    for (size_t half = n / 2; n > few; half = n / 2) {
      first = first[half] < x ? first + half : first;
      n -= half;
    }
    Count less = first - bucket.data();
    for (size_t k = 0; k < n; ++k) less += first[k] < x;
    return less;
  }

  void split(size_t b) {
    std::vector<double> upper(buckets_[b].begin() + most / 2, buckets_[b].end());
    buckets_[b].resize(most / 2);
    buckets_.insert(buckets_.begin() + Count(b) + 1, std::move(upper));
  }

  std::vector<std::vector<double>> buckets_;
  Count count_ = 0;
};

double quantile_of(const Ordered& numbers, const RollRequest& request, double p) {
  const QuantilePosition at = quantile_position(request.type, double(numbers.count()), p);
  const double lower = numbers[at.lower];
  return at.share > 0 ? between(lower, numbers[at.upper], at.share) : lower;
}

}  // namespace

void roll_quantiles(const RollPart& part) {
  const RollRequest& request = part.request;
  const double* const x = part.x;
  const auto is_number = [](double value) { return value == value; };
  Ordered numbers;
  Count lo = part.windows.first(part.begin), hi = lo, gaps = 0;
  for (Count k = part.begin; k < part.end; ++k) {
    const Count first = part.windows.first(k), end = part.windows.end(k);
    for (; lo < first && lo < hi && hi < end && is_number(x[lo]) && is_number(x[hi]); ++lo, ++hi)
      numbers.replace(x[lo], x[hi]);
    for (; hi < end; ++hi) is_number(x[hi]) ? numbers.insert(x[hi]) : void(++gaps);
    for (; lo < first; ++lo) is_number(x[lo]) ? numbers.erase(x[lo]) : void(--gaps);
    for (size_t o = 0; o < request.probs.size(); ++o) {
      double& result = part.results[Count(o) * part.stride + k - part.begin];
      if (gaps > 0 && !request.skip_missing)
        result = not_a_number<double>();
      else
        result = numbers.count() > 0 ? quantile_of(numbers, request, request.probs[o]) : missing();
    }
  }
}

}  // namespace kernops
