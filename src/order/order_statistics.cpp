#include "order/order_statistics.h"

#include <kernops/quantile_positions.h>

#include <algorithm>
#include <cmath>

#include "order/quantiles.h"
#include "run/huge_pages.h"
#include "run/parallel_for.h"
#include "segments/passes.h"

namespace kernops {
namespace {

void median(Sample& sample, const OrderRequest& request, double* results) {
  if (sample.weighed) return write_quantiles(sample, 2, {0.5}, results);
  const Count n = sample.count, half = n / 2;
  const Pair middle = sample.select(n % 2 ? half : half - 1);
  if (n % 2) return void(*results = middle.lower);
  const double lower = middle.lower, upper = middle.upper, sum = lower + upper;
  *results = std::isinf(sum) ? lower / 2 + upper / 2 : sum / 2;
}

void quantiles(Sample& sample, const OrderRequest& request, double* results) {
  write_quantiles(sample, request.type, request.probs, results);
}

void quartile_range(Sample& sample, const OrderRequest& request, double* results) {
  double ends[2];
  write_quantiles(sample, request.type, {0.25, 0.75}, ends);
  *results = ends[1] - ends[0];
}

void deviation(Sample& sample, const OrderRequest& request, double* results) {
  double centre;
  median(sample, request, &centre);
  if (!std::isfinite(centre)) return void(*results = not_a_number<double>());
  for (Count k = 0; k < sample.count; ++k) sample.x[size_t(k)] = std::abs(sample.x[size_t(k)] - centre);
  median(sample, request, results);
  *results *= 1.4826;
}

void nth_smallest(Sample& sample, const OrderRequest& request, double* results) {
  const Count n = sample.count, k = request.nth > 0 ? request.nth - 1 : n + request.nth;
  *results = k >= 0 && k < n ? sample.select(k).lower : missing();
}

// Returns the most frequent value or, with weights, the value with the largest total weight. If several values attain
// this maximum, returns the first of these values.
void most_frequent(Sample& sample, const OrderRequest& request, double* results) {
  const auto first = sample.placed.begin(), end = first + sample.count;
  sample.sort_placed();
  double most = -1;
  Count earliest = 0;
  const auto offer = [&](double value, double weight, Count place) {
    if (weight < most || (weight == most && place > earliest)) return;
    most = weight, earliest = place, *results = value;
  };
  for (auto run = first; run != end;) {
    double weight = 0;
    auto next = run;
    for (; next != end && next->x == run->x; ++next) weight += sample.weight(next->place);
    offer(run->x, weight, run->place);
    run = next;
  }
  if (request.skip_missing) return;
  if (sample.nas > 0) offer(missing(), sample.weighed ? sample.na_weight : double(sample.nas), sample.first_na);
  if (sample.nans > 0)
    offer(not_a_number<double>(), sample.weighed ? sample.nan_weight : double(sample.nans), sample.first_nan);
}

void count_distinct(Sample& sample, const OrderRequest& request, double* results) {
  const auto first = sample.x.begin(), end = first + sample.count;
  sample.sort();
  const Count gaps = request.skip_missing ? 0 : (sample.nas > 0) + (sample.nans > 0);
  *results = double(std::unique(first, end) - first + gaps);
}

}  // namespace

const std::vector<OrderStatistic>& order_statistics() {
  static const std::vector<OrderStatistic> all = {
#define ORDER_STATISTIC(name, function, gaps, weights, gradient, meaning) \
  {#name, #function, meaning, OrderStatistic::gaps, weights, gradient, function},
#include "order/order_statistics.def"
  };
  return all;
}

bool OrderRequest::has_probs() const { return order_statistics()[size_t(op)].compute == quantiles; }

ChosenValues chosen_values(const OrderRequest& request) {
  const auto compute = order_statistics()[size_t(request.op)].compute;
  if (compute == median) return {{0.5}, 2, false, 1};
  if (compute == quartile_range) return {{0.25, 0.75}, request.type, true, 2};
  if (compute == quantiles) return {request.probs, request.type, false, Count(request.probs.size())};
  return {{}, 0, false, request.following};
}

double empty_result(const OrderRequest& request) {
  if (request.empty) return *request.empty;
  return order_statistics()[size_t(request.op)].compute == count_distinct ? 0 : missing();
}

namespace {

// Computes the results of one segment.
void reduce_segment(const OrderRequest& request, Count s, Count column, Sample& sample, std::vector<double>& results) {
  const OrderStatistic& statistic = order_statistics()[size_t(request.op)];
  const bool ranks = statistic.compute == most_frequent;
  sample.take(request.segments, s, request.x, column, request.weights, ranks);
  const bool spread = statistic.gaps == OrderStatistic::Spread, gap = sample.nas + sample.nans > 0;
  const bool kept = sample.count > 0 || (!spread && !request.skip_missing && gap);
  if (spread && !request.skip_missing && gap)
    std::fill(results.begin(), results.end(), sample.gap());
  else if (!kept)
    std::fill(results.begin(), results.end(), empty_result(request));
  else
    statistic.compute(sample, request, results.data());
}

}  // namespace

namespace {

// Copies the values of groups in the order of the segments. If the values are needed only once, copying is faster than
// computing the order of the groups.
SegmentValues laid_out(const OrderRequest& request, LargeVector<double>& memory) {
  const Segments& segments = request.segments;
  memory.resize(size_t(segments.covered * request.columns));
  std::vector<std::uint32_t> next(size_t(segments.count), 0);
  for (Count column = 0; column < request.columns; ++column) {
    double* const to = memory.data() + column * segments.covered;
    for (Count s = 0; s < segments.segments(); ++s)
      next[size_t(segments.row(s))] = std::uint32_t(segments.offsets()[size_t(s)] - segments.first);
    const auto fill = [&](const auto& value) {
      for (Count n = 0; n < segments.values; ++n)
        if (const Count row = segments.groups[n]; row >= 0) to[next[size_t(row)]++] = value(n);
    };
    const double* x = static_cast<const double*>(request.x.data) + column * request.x.column;
    if (request.x.type == SegmentValues::doubles && request.x.row == 1)
      fill([=](Count n) { return x[n]; });
    else
      fill([&](Count n) { return value_at(request.x, column, n); });
  }
  return {SegmentValues::doubles, false, memory.data(), 1, segments.covered, true};
}

}  // namespace

void reduce_in_order(const OrderRequest& wanted) {
  if (wanted.is_gradient()) return gradient_in_order(wanted);
  OrderRequest request = wanted;
  const Segments& segments = request.segments;
  LargeVector<double> memory;
  if (segments.groups) {
    if (request.weights)
      segments.order();
    else
      request.x = laid_out(request, memory);
  }
  const double nothing = empty_result(request);
  const Count outputs = request.outputs(), width = request.columns;
  for (Count o = 0; o < outputs * width; ++o)
    for (const Count row : segments.empties) request.out.data[o * request.out.entry + row] = nothing;
  in_segments(segments, width, request.settings, [&](Count column, Count first, Count last) {
    Sample sample;
    std::vector<double> results(static_cast<size_t>(outputs));
    for (Count s = first; s < last; ++s) {
      reduce_segment(request, s, column, sample, results);
      for (Count o = 0; o < outputs; ++o)
        request.out.data[(o * width + column) * request.out.entry + segments.row(s)] = results[size_t(o)];
    }
  });
}

}  // namespace kernops
