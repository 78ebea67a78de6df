// Segments in order: sorted values, permutations, ranks, the largest values. A GPU sorts values, the CPU does the rest.
#pragma once
#include "order/sample.h"

namespace kernops {

struct SortRequest {
  enum Ties { average, first, last, min, max };
  Segments& segments;
  SegmentValues x;
  Count columns = 1;
  bool decreasing = false, missing_last = true;
  bool keep_missing = false;  // the rank of a missing value is NA
  Ties ties = average;
  Output out{};  // of sort_segments()
  Settings settings{};
  int outputs() const { return 1; }
};

// Row n of column k of x or of the result is at [k * segments.values + n]; rows in no segment stay as they are.
void sort_segments(const SortRequest& request);
void rank_segments(const SortRequest& request, double* out);
// The rows of x from 1, segment by segment: `segments.covered` of them for each column.
void order_segments(const SortRequest& request, double* out);
// The first k values of each segment in order, without missing ones, and their places from 1; NA where there are fewer.
// Number n of segment s of column c is at [(n * columns + c) * segments.count + s].
void top_of_segments(const SortRequest& request, Count k, double* values, double* places);

}  // namespace kernops
