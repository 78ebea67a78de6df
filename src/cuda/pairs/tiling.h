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
  int first_row(int vector);    // slot of the vector of row 0; 0 if no variable has this vector
  void add_roots(int weights);  // adds slots for the square roots of weights to the plan
};

struct SizedSlot {
  int slot, size;
};
Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b);

// Allocates slots for the expansion. Removes the expansion if `long_vectors` is true but the exponent is not
// contracted.
void place_expansion(Tiling& tiling, bool long_vectors);
// Replaces the weights of a distance between short vectors by the square roots of the weights, if the entries of a sum
// have the same weights as factors. This transformation is used only for doubles: with floats, the norms exceed their
// limit so often that the transformation would take more time.
void find_roots(Tiling& tiling);

// take_sum_apart() splits the summand into terms that panels can sum, if possible. After the expansion has received
// slots, place_panels() sets the vectors of the terms.
void take_sum_apart(Tiling& tiling);
void place_panels(Tiling& tiling);

// Sets `nearest` of a plan that only selects the columns with the smallest distances (or extreme inner products).
void find_nearest(TiledPlan& plan);

// True for a sum of exponentials, or of exponentials times one number of the column that no other step reads. For
// products with several numbers, weighting columns is not faster.
bool can_weight_columns(const Tiling& tiling);

}  // namespace kernops
