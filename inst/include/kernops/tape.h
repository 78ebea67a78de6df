// Plain structs for the straight-line code (code without jumps) of a formula, which every backend reads.
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

// Applies the operation `op`, with the integer arguments ints[], to the values in the slots in[], and stores the result
// in the slot `out`. The sizes of these values are sizes[]. Slot 0 stands for no argument.
struct Step {
  int op, out, size;
  int in[3], sizes[3], ints[2];
};

// Adds the product of the slots `factor`, `times` and `value` to the entries at .. at + size - 1 of the sum. `factor`
// is equal for all pairs, and `times` is one number for all entries. If `factor` or `times` is slot 0, the factor is 1.
struct Summand {
  int value, times, factor, at, size;
};

}  // namespace kernops
