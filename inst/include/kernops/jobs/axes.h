// A reduction over some dimensions of an array, for the CPU and CUDA engines: plain structs.
//
// Neighbouring dimensions of the same kind form one run. A kept run numbers the results, a reduced one the positions in
// a slice, both in R's order: the earliest dimension varies fastest.
#pragma once
#include <kernops/portable.h>

namespace kernops {

struct Run {
  long long size, stride, number;  // one step along the run: distance in memory, and in results or positions
};

struct Runs {
  static constexpr int most = 16;
  int count;
  Run run[most];
};

// The address of element `index` of some runs, the first run fastest, and its number.
struct Spot {
  long long offset, number;
};

struct SliceJob {
  const double* doubles;  // the values, as one of these types
  const float* floats;
  const int* integers;
  Runs kept, reduced;
  long long results, slice;  // number of slices, and number of values per slice
  bool along;                // true if lanes lie along a slice, false if across slices
  bool skip;                 // NaN is skipped
  int op;                    // row of segments.def
  double alpha;              // factor of a softmax: the sum of each slice of the result
  double empty;              // result of a formula for a slice without values
  int parts;                 // number of GPU threads per slice
  long long chunk;           // positions of a slice that are reduced as one chunk; depends only on the sizes
  void* partials;            // if there are several chunks: the states of result n begin at n * chunks()
  // result n of a slice is at out[slice * outputs + n]; for softmax in the layout of the values
  double* out;
  float* out_floats;  // used instead of `out` by a softmax in float

  KERNOPS_FN long long chunks() const { return slice == 0 ? 1 : (slice + chunk - 1) / chunk; }
};

}  // namespace kernops
