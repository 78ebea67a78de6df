// A reduction over some dimensions of an array, as the CPU and CUDA engines see it: plain structs.
//
// Neighbouring dimensions of the same kind are one run. A kept run numbers the results, a reduced one the
// positions in a slice, both as R would: the earliest dimension fastest.
#pragma once
#include <kernops/portable.h>

namespace kernops {

struct Run {
  long long size, stride, number;  // a step along the run: so far in memory, so many results or positions
};

struct Runs {
  static constexpr int most = 16;
  int count;
  Run run[most];
};

// Where element `index` of some runs is, the first run fastest, and its number.
struct Spot {
  long long offset, number;
};

struct SliceJob {
  const double* doubles;  // the values: one of these
  const float* floats;
  const int* integers;
  Runs kept, reduced;
  long long results, slice;  // how many, and values in each
  bool along;                // lanes lie along a slice, else across slices
  bool skip;                 // NaN is left out
  int op;                    // row of segments.def
  double alpha;              // of softmax: what a slice of its result sums to
  double empty;              // of a formula: the result of a slice without values
  int parts;                 // of a slice, for as many threads of the GPU
  long long chunk;           // positions of a slice that are reduced in one go; depends on the sizes alone
  void* partials;            // where there are several chunks: the states of result n from n * chunks()
  double* out;               // result n of a slice at out[slice * outputs + n]; softmax: as the values
  float* out_floats;         // of softmax, instead

  KERNOPS_FN long long chunks() const { return slice == 0 ? 1 : (slice + chunk - 1) / chunk; }
};

}  // namespace kernops
