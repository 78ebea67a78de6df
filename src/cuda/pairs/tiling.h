// Construction of a TiledPlan.
#pragma once
#include <set>

#include "cuda/pairs/tiled_plan.h"

namespace kernops {

struct Tiling {
  TiledPlan plan;
  std::vector<bool> used;  // slots that the remaining pair steps read
  std::set<int> computed;  // slots that the remaining pair steps write

  int new_slot(Level level, int size);
  int add(Level level, OpId op, int size, int a, int b = 0);  // appends a step and returns its slot
  int constant(double value);
  int first_row(int vector);    // slot that holds this vector of row 0; 0 if the vector is not a load
  void add_roots(int weights);  // adds slots to an expansion
};

struct SizedSlot {
  int slot, size;
};
Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b);

// Allocates slots for the expansion, or removes the expansion if vectors are long and not contracted.
void place_expansion(Tiling& tiling, bool long_vectors);
// Replaces the weights of a distance of short vectors by their roots, if a sum has the weights as factors of its
// entries. This is done for doubles only: floats fail the norm test too often, which takes longer.
void find_roots(Tiling& tiling);

// Splits the summand into terms that panels can sum, if possible. Once the expansion has slots, place_panels() sets the
// vectors of the products.
void take_sum_apart(Tiling& tiling);
void place_panels(Tiling& tiling);

// Finds a plan that selects the smallest distances, if no other work remains for a pair.
void find_nearest(TiledPlan& plan);

// True for a sum of exponentials, or of their products with one number of the column that only these products read;
// with several numbers, weighting columns is not faster.
bool can_weight_columns(const Tiling& tiling);

}  // namespace kernops
