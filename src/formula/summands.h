// Represents a vector of derivatives of each pair as a sum of terms. Each term has a position in the vector, and a
// factor that is the same for all pairs. A linear operation on the derivatives of all pairs then multiplies by each
// factor once, and not for each pair.
#pragma once
#include "formula/graph.h"

namespace kernops {

// The vector factor * times * value, which is added to the sum from entry `at` on. `factor` is the same for all pairs.
// -1 stands for a `factor` or `times` of 1.
struct SummandTrees {
  Tree value, times, factor;
  int at, size;
};

// Returns the summands of the values that a reduction stores; no summands if the reduction does not store values.
std::vector<SummandTrees> summands_of(Graph& graph, const Reduction& reduction);

}  // namespace kernops
