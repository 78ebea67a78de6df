// The window of each value of a segment.
#pragma once
#include <algorithm>

#include "segments/segments.h"

namespace kernops {

// Value k of a segment of n values has the window first(k) .. end(k) - 1, which is cut at the ends of the segment.
// first() and end() never decrease. A window contains the value, `left` values before it and `right` values after it,
// or, if `before` and `after` are set, numbers of values that depend on the position.
struct Windows {
  Count left = 0, right = 0;
  const int *before = nullptr, *after = nullptr;  // one number for each position of the segments; null: `left`, `right`
  bool partial = true;                            // if false, a window that is cut has no result

  Count reach_left(Count position) const { return before ? before[position] : left; }
  Count reach_right(Count position) const { return after ? after[position] : right; }
};

// The windows of one segment, whose first value has position `position` among all values.
struct SegmentWindows {
  const Windows& windows;
  Count position, n;
  Count first(Count k) const { return std::max<Count>(0, k - windows.reach_left(position + k)); }
  Count end(Count k) const { return std::min(n, k + windows.reach_right(position + k) + 1); }
  bool counts(Count k) const {
    return windows.partial || (k >= windows.reach_left(position + k) && k + windows.reach_right(position + k) < n);
  }
};

}  // namespace kernops
