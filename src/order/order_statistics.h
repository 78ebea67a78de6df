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
  Count nth = 1;                  // negative: counted from the largest
  const double* empty = nullptr;  // the result of a segment without values
  // Instead of a quantile: the positions in the segment, from 1, of the two values that enclose it, and the share of
  // the second one.
  bool places = false;
  Output out{};  // result o of column k for segment s at out.data[(o * columns + k) * out.entry + s]
  Settings settings{};

  bool has_probs() const;
  Count outputs() const { return (has_probs() ? Count(probs.size()) : 1) * (places ? 3 : 1); }
};

double empty_result(const OrderRequest& request);  // result of a segment without values

void reduce_in_order(const OrderRequest& request);  // on the CPU

}  // namespace kernops
