// Quantiles of a sample, with or without weights.
#pragma once
#include "order/sample.h"

namespace kernops {

void write_quantiles(Sample& sample, int type, const std::vector<double>& probs, double* results);

}  // namespace kernops
