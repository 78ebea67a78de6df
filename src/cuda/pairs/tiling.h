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
  int first_row(int vector);    // the same vector of the first row, once; 0 if it is not a load
  void add_roots(int weights);  // slots of an expansion
};

struct SizedSlot {
  int slot, size;
};
Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b);

// Allocates slots for the expansion, or drops it if vectors are long and not contracted.
void place_expansion(Tiling& tiling, bool long_vectors);
// Replaces the weights of a distance of short vectors by their roots, if a sum has the weights as factors of its
// entries. This is done for doubles only: floats fail the norm test too often, which takes longer.
void find_roots(Tiling& tiling);

// Splits the summand into terms that panels can sum, if possible. Once the expansion has slots, place_panels() assigns
// the vectors of the products.
void take_sum_apart(Tiling& tiling);
void place_panels(Tiling& tiling);

// Distances of which the smallest are selected; no other work remains for a pair.
void find_nearest(TiledPlan& plan);

// A sum of exponentials, or of their products with one number of the column that nothing else reads; with several
// numbers it is not faster.
bool can_weight_columns(const Tiling& tiling);

}  // namespace kernops
