// Quantiles of a sample, also of weighted values.
#pragma once
#include "order/sample.h"

namespace kernops {

void write_quantiles(Sample& sample, int type, const std::vector<double>& probs, double* results);

}  // namespace kernops
