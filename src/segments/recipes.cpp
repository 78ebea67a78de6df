#include <kernops/missing.h>
#include <kernops/state.h>

#include "segments/passes.h"

namespace kernops {
namespace {

Count result_count(const SegmentRequest& request) { return request.segments.count * request.columns; }

// Reduces the segments of a request by `op`, with doubles in the memory of the backend as results.
Temporary reduced(const SegmentPasses& passes, SegmentRequest part, StatisticId op) {
  Temporary there = passes.numbers(result_count(part));
  part.op = int(op), part.softmax = false, part.formula = nullptr, part.empty = nullptr, part.no_nan = nullptr;
  part.out = {there.data, part.segments.count, 1, there.space, there.device};
  passes.reduce(part);
  return there;
}

Temporary sum_of(const SegmentPasses& passes, SegmentRequest part, SegmentTerm term) {
  part.term = term;
  if (!term_row(term).weight) part.weights = {};
  return reduced(passes, part, StatisticId::sum);
}

// Computes moments with weights, which are the frequencies of the values.
void weighted_moments(const SegmentPasses& passes, const SegmentRequest& request) {
  if (request.op == int(StatisticId::mean) && passes.reduce_mean(request)) return;
  const Temporary mass = sum_of(passes, request, SegmentTerm::Mass), mean = sum_of(passes, request, SegmentTerm::Times);
  passes.step(ResultStep::mean, request, mean.data, mean.data, mass.data, 0);
  if (request.op == int(StatisticId::mean)) return passes.copy(mean, result_count(request), request.out);
  SegmentRequest from_mean = request;
  from_mean.given = {mean.data};
  const Temporary squares = sum_of(passes, from_mean, SegmentTerm::SquareFromMean);
  passes.step(ResultStep::variance, request, squares.data, mean.data, mass.data, 0);
  if (request.op == int(StatisticId::sd)) passes.step(ResultStep::root, request, squares.data, nullptr, nullptr, 0);
  passes.copy(squares, result_count(request), request.out);
}

// Reduces values with weights. The count of a segment includes the values whose weight is neither missing nor 0.
void reduce_weighted(const SegmentPasses& passes, SegmentRequest request) {
  const SegmentTerm term = statistics()[size_t(request.op)].weights;
  if (term == SegmentTerm::Moments) return weighted_moments(passes, request);
  request.term = term;
  if (request.op == int(StatisticId::count)) {
    request.op = int(StatisticId::sum);
    request.term = request.skip_missing ? SegmentTerm::PresentOrNaN : SegmentTerm::Present;
  }
  passes.reduce(request);
}

bool is_weighted(const SegmentRequest& request) {
  return request.weights.data && !request.weight_of && !request.product;
}

}  // namespace

bool fills_empty(const SegmentRequest& request) {
  return (request.skip_missing && (request.empty || request.formula)) || (request.empty && is_weighted(request));
}

void fill_empty(const SegmentPasses& passes, const SegmentRequest& request) {
  if (!fills_empty(request)) return;
  Temporary count = passes.numbers(result_count(request));
  SegmentRequest counted = request;
  counted.op = int(StatisticId::count), counted.formula = nullptr, counted.empty = nullptr, counted.no_nan = nullptr;
  counted.out = {count.data, request.segments.count, 1, count.space, count.device};
  is_weighted(request) ? reduce_weighted(passes, counted) : passes.reduce(counted);
  for (int output = 0; output < request.outputs(); ++output)
    passes.step(ResultStep::fill_where_none, request, request.out.data + output * request.columns * request.out.entry,
                count.data, nullptr, request.empty ? *request.empty : not_a_number<double>());
}

namespace {

// For each segment, the largest value and the sum of exponentials relative to the largest value. The sum keeps full
// precision, whereas its logarithm would be rounded.
class Exponentials {
 public:
  Exponentials(const SegmentPasses& passes, SegmentRequest request) {
    request.weights = {}, request.precise = true;
    largest_ = reduced(passes, request, StatisticId::max);
    request.given = {nullptr, largest_.data};
    mass_ = sum_of(passes, request, SegmentTerm::FromLargest);
  }
  std::vector<const double*> after(const double* first) const { return {first, largest_.data, mass_.data}; }

 private:
  Temporary largest_, mass_;
};

// Computes the numbers of each segment that a gradient needs in addition to the incoming gradient.
std::vector<Temporary> parts_of(const SegmentPasses& passes, SegmentRequest request, SegmentMap gradient) {
  std::vector<Temporary> parts;
  request.weights = {}, request.precise = true;
  if (gradient == SegmentMap::VarGradient) parts.push_back(reduced(passes, request, StatisticId::mean));
  if (gradient == SegmentMap::PositionGradient)
    parts.push_back(
        reduced(passes, request, request.op == int(StatisticId::min) ? StatisticId::argmin : StatisticId::argmax));
  if (gradient == SegmentMap::ProductGradient) {
    SegmentRequest others = request;
    others.term = SegmentTerm::OneForZero;
    parts.push_back(reduced(passes, others, StatisticId::prod));
    parts.push_back(sum_of(passes, request, SegmentTerm::IsZero));
  }
  return parts;
}

// Copies the incoming gradients to the memory of the backend.
Temporary incoming_numbers(const SegmentPasses& passes, const SegmentGradient& request) {
  const Count count = result_count(request);
  Temporary there = passes.numbers(count);
  Temporary from = there;
  from.data = const_cast<double*>(static_cast<const double*>(request.incoming.data));
  from.space = request.incoming.on_device ? MemorySpace::device_double : MemorySpace::host;
  passes.copy(from, count, {there.data, count, 1, there.space, there.device});
  return there;
}

void softmax_gradient(const SegmentPasses& passes, const SegmentGradient& request) {
  const Exponentials all(passes, request);
  SegmentRequest both = request;
  both.given = all.after(nullptr), both.precise = true;
  const Temporary along = sum_of(passes, both, SegmentTerm::TimesSoftmax);
  both.given = all.after(along.data);
  passes.map(both, SegmentMap::SoftmaxGradient, true, 0);
}

}  // namespace

void reduce_segments(const SegmentPasses& passes, const SegmentRequest& request) {
  is_weighted(request) ? reduce_weighted(passes, request) : passes.reduce(request);
  fill_empty(passes, request);
}

void softmax_segments(const SegmentPasses& passes, const SegmentRequest& request) {
  const Exponentials all(passes, request);
  SegmentRequest values = request;
  values.given = all.after(nullptr);
  passes.map(values, SegmentMap::SoftmaxValue, true, missing());
}

void gradient_of_segments(const SegmentPasses& passes, const SegmentGradient& request) {
  if (request.softmax) return softmax_gradient(passes, request);
  const SegmentMap gradient = statistics()[size_t(request.op)].gradient;
  const Temporary incoming = incoming_numbers(passes, request);
  SegmentRequest values = request;
  if (gradient == SegmentMap::LogSumExpGradient) {
    const Exponentials all(passes, request);
    values.given = all.after(incoming.data);
    return passes.map(values, gradient, request.in_place, 0);
  }
  const std::vector<Temporary> parts = parts_of(passes, request, gradient);
  // the gradient divides the product by each value, which is precise only if the product did not underflow or overflow
  if (gradient == SegmentMap::ProductGradient && !passes.all_normal(parts[0], result_count(request)))
    return passes.other_products(request);
  values.given = {incoming.data};
  for (const Temporary& part : parts) values.given.push_back(part.data);
  passes.map(values, gradient, request.in_place, 0);
}

}  // namespace kernops
