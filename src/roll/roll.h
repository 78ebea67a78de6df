// Reductions of windows that move along the values of each segment.
#pragma once
#include <vector>

#include "roll/windows.h"

namespace kernops {

struct RollRequest {
  Segments& segments;
  SegmentValues x;
  Count columns = 1;
  Windows windows{};
  int op = 0;  // row of segments.def; ignored with a formula or `probs`
  const SegmentFormula* formula = nullptr;
  const double* empty = nullptr;  // result of a formula for a window without values
  std::vector<double> probs{};    // computes quantiles with these probabilities
  int type = 7;
  bool skip_missing = false;
  Output out{};  // result o of column k for row n at out.data[(o * columns + k) * out.entry + n]
  Settings settings{};
  Count outputs() const { return formula ? 1 : probs.empty() ? statistics()[size_t(op)].outputs : Count(probs.size()); }
};

// Computes a request on the CPU. The function computes statistics for any windows, and quantiles for windows that only
// move forward. The function returns false for all other requests.
bool roll_segments(const RollRequest& request);

// Returns the length of the longest window.
Count longest_window(const Segments& segments, const Windows& windows);

// Computes the window of each row. The window of a row with the value t of `by` has the rows of the same segment whose
// values of `by` are in (t - width, t] (align = 0), (t - width / 2, t + width / 2] (align = 1) or [t, t + width) (align
// = 2). `widths` has one number, or one for each row. Returns the first row at which `by` decreases within a segment,
// or -1.
Count windows_by(const Segments& segments, const double* by, const std::vector<double>& widths, int align, int* before,
                 int* after);

// A part of the work: the results of successive values of one segment and column.
struct RollPart {
  const RollRequest& request;
  SegmentWindows windows;
  const double* x;   // value k of the segment at x[k], for k in the windows of the part
  Count begin, end;  // range of values whose results are computed
  double* results;   // output o of value k at results[o * stride + k - begin]
  Count stride;
};
using RollWork = void (*)(const RollPart&);
RollWork roll_by_stacks(int op);       // roll/stacks.cpp
void roll_quantiles(const RollPart&);  // roll/narrow_quantiles.cpp
void roll_ranks(const RollPart&);      // quantiles of any windows: roll/quantiles.cpp

}  // namespace kernops
