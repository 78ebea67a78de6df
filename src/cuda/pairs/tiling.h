// Functions that construct a TiledPlan.
#pragma once
#include <set>

#include "cuda/pairs/tiled_plan.h"

namespace kernops {

struct Tiling {
  TiledPlan plan;
  std::vector<bool> used;  // slots that the remaining steps of pairs read
  std::set<int> computed;  // slots that the remaining steps of pairs write

  int new_slot(Level level, int size);
  int add(Level level, OpId op, int size, int a, int b = 0);  // appends a step and returns its slot
  int constant(double value);
  int first_row(int vector);    // slot that holds this vector of row 0; 0 if the vector is not a load
  void add_roots(int weights);  // adds slots for the square roots of weights to the plan
};

struct SizedSlot {
  int slot, size;
};
Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b);

// Allocates slots for the expansion. Removes the expansion if `long_vectors` is true but the exponent is not
// contracted.
void place_expansion(Tiling& tiling, bool long_vectors);
// Replaces the weights of a distance between short vectors by their square roots, if a sum has these weights as factors
// of its entries. Used for doubles only: floats fail the test of the norms so often that this would take longer.
void find_roots(Tiling& tiling);

// Splits the summand into terms that panels can sum, if possible. Once the expansion has slots, place_panels() sets the
// vectors of the terms.
void take_sum_apart(Tiling& tiling);
void place_panels(Tiling& tiling);

// Finds out whether a plan selects the smallest distances, without any other work for a pair.
void find_nearest(TiledPlan& plan);

// True for a sum of exponentials, or of exponentials times one number of the column that nothing else reads. With
// several numbers, weighting columns is not faster.
bool can_weight_columns(const Tiling& tiling);

}  // namespace kernops
