// Quantiles of a sample, also of weighted values, or the places of the values that they are made of.
#pragma once
#include "order/order_statistics.h"

namespace kernops {

void write_quantiles(Sample& sample, const OrderRequest& request, int type, const std::vector<double>& probs,
                     double* results);

}  // namespace kernops
