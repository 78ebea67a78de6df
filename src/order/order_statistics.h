// Statistics of sorted segments: the requests of R and the answers of a Backend.
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
  const double* empty = nullptr;  // the result of a segment without values
  // Instead of statistics, the gradient of sum(incoming * statistics) with respect to the values, if each statistic is
  // a mean of chosen values. `incoming` are doubles: number o of column k for segment s at [(o * columns + k) * count +
  // s]. The gradient of the nth value is that of `following` values, number nth, nth + 1, ...
  SegmentValues incoming{};
  bool decreasing = false;  // the order, for gradients
  Count following = 1;
  // Result o of column k for segment s at out.data[(o * columns + k) * out.entry + s]; the gradient of the value of row
  // n at out.data[k * out.entry + n], 0 for rows outside all segments.
  Output out{};
  Settings settings{};

  bool has_probs() const;
  bool is_gradient() const { return incoming.data; }
  Count incoming_count() const;
  Count result_rows() const { return is_gradient() ? segments.values : segments.count; }
  Count outputs() const { return has_probs() && !is_gradient() ? Count(probs.size()) : 1; }
};

// The values of which statistics are means: quantiles if there are probabilities, else the nth value and its followers.
struct ChosenValues {
  std::vector<double> probs;
  int type;
  bool difference;  // of the second and the first quantile
  Count outputs;    // including both quantiles of a difference
};
ChosenValues chosen_values(const OrderRequest& request);
void gradient_in_order(const OrderRequest& request);  // on the CPU: order/order_gradient.cpp

double empty_result(const OrderRequest& request);  // result of a segment without values

void reduce_in_order(const OrderRequest& request);  // on the CPU

}  // namespace kernops
