// Straight-line code of a formula.
#pragma once
#include <kernops/tape.h>

#include <memory>

#include "formula/summands.h"

namespace kernops {

// The results of compiling a plan; each backend derives its own class.
struct PlanCache {
  virtual ~PlanCache() = default;
};

struct Plan {
  long id = 0;  // unique among plans
  Reduction reduction;
  unsigned rows;  // the axis of the result; the other axis runs along the lanes
  std::vector<Slot> slots;
  std::array<std::vector<Load>, 3> loads;  // indexed by Level, pairs load nothing
  std::array<std::vector<Step>, 4> steps;  // by Level
  std::array<int, 4> entries{};            // number of entries at each level
  std::vector<Summand> summands;           // summands of f, if requested; the last `joins` steps of a pair sum them
  int joins = 0;
  int f, w;  // slots of the reduced value and its weights, 0 for none
  int f_size, w_size;
  int pair_footprint = 0;  // entries that the pair steps access
  bool counts_indices = false;
  bool stores = false;                       // true if the values of pairs are stored, and not reduced
  mutable std::shared_ptr<PlanCache> cache;  // data of the backend that made the plan; used by one thread at a time
  const Step* maker(int slot) const;         // the step that writes a pair's value; null if a level holds it
};
int footprint_of_pairs(const Plan& plan);
// Gives each pair value its own slot, because pair steps share buffers: each slot then has one meaning.
void give_own_slots(Plan& plan);
// Removes from f and w a factor that is the same for all terms of a sum, such as weights in a gradient. Returns the
// slot by which the sum is multiplied entry by entry, 0 for none.
int take_out_once(Plan& plan);
Plan plan(const Graph& graph, const Reduction& reduction, const std::vector<SummandTrees>& summands = {});

}  // namespace kernops
