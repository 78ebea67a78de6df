// Quantiles of a sample, also of weighted values, or the positions of the values from which they are computed.
#pragma once
#include "order/order_statistics.h"

namespace kernops {

void write_quantiles(Sample& sample, const OrderRequest& request, int type, const std::vector<double>& probs,
                     double* results);

}  // namespace kernops
