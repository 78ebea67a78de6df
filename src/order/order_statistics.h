// Order statistics of segments, as R requests them from a backend.
#pragma once
#include <string>

#include "order/sample.h"

namespace kernops {

struct OrderStatistic {
  enum Gaps { Spread, Value };
  const char *name, *function, *meaning;
  Gaps gaps;
  bool weights, gradient;
  void (*compute)(Sample& sample, const struct OrderRequest& request, double* results);
};
const std::vector<OrderStatistic>& order_statistics();

struct OrderRequest {
  Segments& segments;
  int op = 0;  // row of order_statistics.def
  SegmentValues x;
  Count columns = 1;
  const double* weights = nullptr;  // weight of each row
  bool skip_missing = false;
  std::vector<double> probs{};
  int type = 7;
  Count nth = 1;                  // a negative number counts from the largest value
  const double* empty = nullptr;  // result of a segment without values
  // If `incoming` is set, the result is not the statistics but the gradient of sum(incoming * statistics) with respect
  // to the values; each statistic must be a mean of some values. `incoming` has doubles: the number for output o of
  // column k and segment s is at [(o * columns + k) * count + s]. If the statistic is the nth value, `incoming` has
  // numbers for `following` statistics: the values nth, nth + 1, ...
  SegmentValues incoming{};
  bool decreasing = false;  // order of the values, for gradients
  Count following = 1;
  // Statistic o of column k for segment s is at out.data[(o * columns + k) * out.entry + s]. The gradient with respect
  // to row n of column k is at out.data[k * out.entry + n]; it is 0 for rows outside all segments.
  Output out{};
  Settings settings{};

  bool has_probs() const;
  bool is_gradient() const { return incoming.data; }
  Count incoming_count() const;
  Count result_rows() const { return is_gradient() ? segments.values : segments.count; }
  Count outputs() const { return has_probs() && !is_gradient() ? Count(probs.size()) : 1; }
};

// The values of which the statistics are means: quantiles if `probs` is not empty; otherwise the nth value and the
// values after it.
struct ChosenValues {
  std::vector<double> probs;
  int type;
  bool difference;  // the result is the second minus the first quantile
  Count outputs;    // number of outputs, which is 2 for a difference of two quantiles
};
ChosenValues chosen_values(const OrderRequest& request);
void gradient_in_order(const OrderRequest& request);  // computes a gradient on the CPU

double empty_result(const OrderRequest& request);  // result of a segment without values

void reduce_in_order(const OrderRequest& request);  // computes a request on the CPU

}  // namespace kernops
