// A vector of derivatives as a sum of terms, each at its position: linear operations on them need not be repeated for
// each pair.
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
