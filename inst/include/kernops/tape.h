// Straight-line code, as every backend reads it: plain structs, no containers.
#pragma once

namespace kernops {

// Where a value lives, and so how often it is computed: once, once a row, once a column or once a pair.
enum class Level { uniform, row, column, pair };

struct Slot {
  Level level;
  int offset, size;  // in entries, from the start of its level
};

// A value that comes from outside.
struct Load {
  enum Kind { constant, variable, index, reduced, centre, eigenvalues, eigenvectors } kind;
  int id, slot;
  double value;  // of a constant
};

// Operation `op` on the slots in[] of sizes[] (slot 0 where unused), with integer arguments ints[], into slot
// `out`.
struct Step {
  int op, out, size;
  int in[3], sizes[3], ints[2];
};

// Entries at .. at + size of a vector, added to what others have there: factor * times * value, all of them slots.
// `factor` is the same for all pairs, `times` one number for all entries, 0 where it is 1.
struct Summand {
  int value, times, factor, at, size;
};

}  // namespace kernops
