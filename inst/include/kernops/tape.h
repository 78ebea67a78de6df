// Straight-line code that every backend reads: plain structs, no containers.
#pragma once

namespace kernops {

// The level of a value, which determines how often it is computed: once, per row, per column or per pair.
enum class Level { uniform, row, column, pair };

struct Slot {
  Level level;
  int offset, size;  // offset in entries from the start of its level
};

// A value that is loaded from input data.
struct Load {
  enum Kind { constant, variable, index, reduced, centre, eigenvalues, eigenvectors } kind;
  int id, slot;
  double value;  // value of a constant
};

// Applies operation `op`, with the integer arguments ints[], to the slots in[], whose sizes are sizes[] (slot 0: no
// argument), and stores the result in slot `out`.
struct Step {
  int op, out, size;
  int in[3], sizes[3], ints[2];
};

// Adds the product of the slots `factor`, `times` and `value` to the entries at .. at + size - 1 of the sum. `factor`
// is the same for all pairs, and `times` is one number for all entries; slot 0 in place of one of them stands for the
// number 1.
struct Summand {
  int value, times, factor, at, size;
};

}  // namespace kernops
