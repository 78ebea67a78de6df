// A vector of derivatives as a sum of terms, each with its position: linear operations on the terms are then computed
// once, and not for each pair.
#pragma once
#include "formula/graph.h"

namespace kernops {

// factor * times * value from entry `at` on, where `factor` is the same for all pairs; -1 stands for 1.
struct SummandTrees {
  Tree value, times, factor;
  int at, size;
};

// The summands of the values that a reduction stores; none if it stores no values.
std::vector<SummandTrees> summands_of(Graph& graph, const Reduction& reduction);

}  // namespace kernops
