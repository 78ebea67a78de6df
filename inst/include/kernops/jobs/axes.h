// A reduction over some dimensions of an array, for the CPU and CUDA engines: plain structs.
//
// Neighbouring dimensions of the same kind form one run. A kept run numbers the results, and a reduced run numbers the
// positions in a slice. Both count in R's order: the earliest dimension varies fastest.
#pragma once
#include <kernops/portable.h>

namespace kernops {

struct Run {
  long long size, stride, number;  // of one step along the run: distance in memory, and in results or positions
};

struct Runs {
  static constexpr int most = 16;
  int count;
  Run run[most];
};

// The offset in memory and the number of an element of some runs; the first run varies fastest.
struct Spot {
  long long offset, number;
};

struct SliceJob {
  const double* doubles;  // the values, in one of these three types
  const float* floats;
  const int* integers;
  Runs kept, reduced;
  long long results, slice;  // number of slices, and number of values per slice
  bool along;                // true if lanes lie along a slice, false if across slices
  bool skip;                 // NaN is skipped
  int op;                    // row of segments.def
  double alpha;              // factor of a softmax, to which each slice of the result sums up
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
