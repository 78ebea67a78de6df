// Results of windows that move along the values of each segment. The CPU computes them.
#pragma once
#include <vector>

#include "roll/windows.h"

namespace kernops {

struct RollRequest {
  Segments& segments;
  SegmentValues x;
  Count columns = 1;
  Windows windows{};
  int op = 0;                   // row of segments.def; quantiles if there are probs
  std::vector<double> probs{};  // of the type, or of the mean of two middle values
  int type = 7;
  bool skip_missing = false;
  double* out = nullptr;  // result o of column k for row n at out[(o * columns + k) * segments.values + n]
  Settings settings{};
  Count outputs() const { return probs.empty() ? statistics()[size_t(op)].outputs : Count(probs.size()); }
};

void roll_segments(const RollRequest& request);

// Do first() and end() of all windows not decrease?
bool windows_advance(const Segments& segments, const Windows& windows);

// The windows of `width` of the ordered numbers `by` (of each row), by position of the segments: those in (t - width,
// t] (align = 0), (t - width / 2, t + width / 2] (1) or [t, t + width) (2) for the value at t. There is one width, or
// one for each row. Returns the first row where `by` decreases within a segment, or -1.
Count windows_by(const Segments& segments, const double* by, const std::vector<double>& widths, int align, int* before,
                 int* after);

// Work on the values of one segment and column whose results are wanted.
struct RollPart {
  const RollRequest& request;
  SegmentWindows windows;
  const double* x;   // value k of the segment at x[k], for k in the windows of the part
  Count begin, end;  // of the results
  double* results;   // output o of value k at results[o * stride + k - begin]
  Count stride;
};
using RollWork = void (*)(const RollPart&);
RollWork roll_by_stacks(int op);       // roll/stacks.cpp
void roll_quantiles(const RollPart&);  // roll/quantiles.cpp

}  // namespace kernops
