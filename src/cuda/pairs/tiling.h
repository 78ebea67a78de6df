// A TiledPlan in the making.
#pragma once
#include <set>

#include "cuda/pairs/tiled_plan.h"

namespace kernops {

struct Tiling {
  TiledPlan plan;
  std::vector<bool> used;  // slots that the pair steps that are left read
  std::set<int> computed;  // slots that they write

  int new_slot(Level level, int size);
  int add(Level level, OpId op, int size, int a, int b = 0);  // a step: its slot
  int constant(double value);
  int first_row(int vector);    // the same vector of the first row, once; 0 if it is no load
  void add_roots(int weights);  // of an expansion
};

struct SizedSlot {
  int slot, size;
};
Step make_step(OpId op, SizedSlot out, SizedSlot a, SizedSlot b);

// Finds slots for the expansion, or drops it where vectors are long and not contracted.
void place_expansion(Tiling& tiling, bool long_vectors);
// Short vectors of a distance with weights and of a sum that has these as factors of its entries. Of doubles: floats
// would be far from each other too often, where this takes longer.
void find_roots(Tiling& tiling);

// What is reduced becomes what panels can add up, if they can; and, once the expansion has slots, what they multiply.
void take_sum_apart(Tiling& tiling);
void place_panels(Tiling& tiling);

// Distances of which the smallest are taken: nothing is left to do for each pair then.
void find_nearest(TiledPlan& plan);

// A sum of exponentials, or of their products with one number of the column that nothing else reads; where there are
// several numbers, it is not faster.
bool can_weight_columns(const Tiling& tiling);

}  // namespace kernops
