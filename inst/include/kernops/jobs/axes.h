// The arguments of a reduction over some dimensions of an array: plain structs for the CPU and CUDA engines.
//
// A slice contains the values of one result. A dimension is kept or reduced, and neighbouring dimensions of the same
// kind form one run. The kept runs determine the number of a result, and the reduced runs determine the number of a
// position in a slice. Both numbers count in R's order: the earliest dimension varies fastest.
#pragma once
#include <kernops/portable.h>

namespace kernops {

struct Run {
  long long size, stride, number;  // stride, number: changes of memory offset and element number by one step
};

struct Runs {
  static constexpr int most = 16;
  int count;
  Run run[most];
};

// The memory offset and the number of an element, computed from its position in each of several runs. The first run
// varies fastest.
struct Spot {
  long long offset, number;
};

struct SliceJob {
  const double* doubles;  // the values, in one of these three types
  const float* floats;
  const int* integers;
  Runs kept, reduced;
  long long results, slice;  // number of slices, and number of values per slice
  bool along;                // true if lanes lie along a slice, false if lanes lie across slices
  bool skip;                 // NaN is skipped
  int op;                    // row of segments.def
  double alpha;              // a softmax is scaled such that the sum over each slice is alpha
  double empty;              // result of a formula for a slice without values
  int parts;                 // number of GPU threads per slice
  long long chunk;           // number of positions that are reduced as one chunk; depends only on the sizes
  void* partials;            // if there are several chunks: the states of result n begin at n * chunks()
  // result n of a slice is at out[slice * outputs + n]; a softmax has the layout of the values
  double* out;
  float* out_floats;  // used instead of `out` by a softmax in float

  KERNOPS_FN long long chunks() const { return slice == 0 ? 1 : (slice + chunk - 1) / chunk; }
};

}  // namespace kernops
