// Gradients of order statistics. A statistic is one value, or a weighted mean of two values; the incoming gradient of
// the statistic is divided between these values in proportion to their weights.
#include <kernops/quantile_positions.h>

#include <algorithm>

#include "order/order_statistics.h"

namespace kernops {
namespace {

class ChosenGradient {
 public:
  explicit ChosenGradient(const OrderRequest& request) : request_(request), chosen_(chosen_values(request)) {}

  void add(Count s, Count column, Sample& sample) const {
    sample.take(request_.segments, s, request_.x, column, nullptr, true);
    if (sample.count == 0 || (!request_.skip_missing && sample.nas + sample.nans > 0)) return;
    sample.sort_placed(request_.decreasing);
    const Segments& segments = request_.segments;
    const Count first = segments.offsets()[size_t(s)];
    for (Count o = 0; o < chosen_.outputs; ++o)
      each_share(sample.count, o, incoming(o, s, column), [&](Count k, double eta) {
        const Count row = segments.source(s, first + sample.placed[size_t(k)].place);
        request_.out.data[column * request_.out.entry + row] += eta;
      });
  }

 private:
  double incoming(Count o, Count s, Count column) const {
    const Count from = chosen_.difference ? 0 : o, row = request_.segments.row(s);
    const double eta = static_cast<const double*>(
        request_.incoming.data)[(from * request_.columns + column) * request_.segments.count + row];
    return chosen_.difference && o == 0 ? -eta : eta;
  }

  // Output o is one value, or a weighted mean of two values. Calls give(k, share) for these values in ascending order;
  // `share` is the part of the incoming gradient eta that the value with rank k receives.
  template <class Give> void each_share(Count count, Count o, double eta, Give give) const {
    if (chosen_.probs.empty()) {
      const Count nth = request_.nth, k = nth > 0 ? nth - 1 + o : count + nth;
      if (k >= 0 && k < count) give(k, eta);
      return;
    }
    const QuantilePosition at = quantile_position(chosen_.type, double(count), chosen_.probs[size_t(o)]);
    give(Count(at.lower), eta * (1 - at.share));
    if (at.share > 0) give(Count(at.upper), eta * at.share);
  }

  const OrderRequest& request_;
  const ChosenValues chosen_;
};

}  // namespace

Count OrderRequest::incoming_count() const {
  const ChosenValues chosen = chosen_values(*this);
  return segments.count * columns * (chosen.difference ? 1 : chosen.outputs);
}

void gradient_in_order(const OrderRequest& request) {
  const Segments& segments = request.segments;
  if (segments.groups) segments.order();
  for (Count column = 0; column < request.columns; ++column)
    std::fill_n(request.out.data + column * request.out.entry, segments.values, 0.0);
  const ChosenGradient gradient(request);
  in_segments(segments, request.columns, request.settings, [&](Count column, Count first, Count last) {
    Sample sample;
    for (Count s = first; s < last; ++s) gradient.add(s, column, sample);
  });
}

}  // namespace kernops
