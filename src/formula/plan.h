// The straight-line code that computes a formula for all pairs.
#pragma once
#include <kernops/tape.h>

#include <memory>

#include "formula/summands.h"

namespace kernops {

// Data that a backend derives from a plan, such as a compiled kernel; each backend defines a derived class.
struct PlanCache {
  virtual ~PlanCache() = default;
};

struct Plan {
  long id = 0;  // unique among plans
  Reduction reduction;
  unsigned rows;  // axis of the results; SIMD lanes run along the points of the other axis
  std::vector<Slot> slots;
  std::array<std::vector<Load>, 3> loads;  // indexed by Level; there are no loads per pair
  std::array<std::vector<Step>, 4> steps;  // indexed by Level
  std::array<int, 4> entries{};            // number of entries at each level
  std::vector<Summand> summands;           // if requested, terms whose sum is f; the last `joins` steps add these terms
  int joins = 0;
  int f, w;  // slots of the reduced value and of its weights; 0 for none
  int f_size, w_size;
  int pair_footprint = 0;  // number of entries that the steps of a pair access
  bool counts_indices = false;
  bool stores = false;                       // true if the values of pairs are stored instead of reduced
  mutable std::shared_ptr<PlanCache> cache;  // data that a backend derived from the plan; used by one thread at a time
  const Step* maker(int slot) const;         // the step that computes a value of pairs; null for other values
};
int footprint_of_pairs(const Plan& plan);
// Gives each value of pairs a separate slot. In a new plan, values of pairs share slots.
void give_own_slots(Plan& plan);
// Removes from f and w a factor that is the same for all terms of a sum, such as the weights in a gradient. Returns the
// slot of this factor, by which the sum must be multiplied entry by entry; 0 if there is none.
int take_out_once(Plan& plan);
Plan plan(const Graph& graph, const Reduction& reduction, const std::vector<SummandTrees>& summands = {});

}  // namespace kernops
