// Sorting within segments: sorted values, permutations, ranks and the largest values, as requested from a backend.
#pragma once
#include "order/sample.h"

namespace kernops {

struct SortRequest {
  // The result of a request. `values` and `ranks`: the result for row n of column k of x is at [k * out.entry + n];
  // rows outside all segments are not written. `rows`: the row numbers of x, from 1, in sorted order, segment by
  // segment; each column has `segments.covered` numbers. `first`: the first `top` values of each sorted segment,
  // without missing values, followed by their positions and their rows, both from 1. Number n of segment s of column c
  // is at [(n * columns + c) * out.entry + s], and is NA if the segment has fewer values.
  enum Result { values, rows, ranks, first };
  enum Ties { average, in_turn, in_reverse, min, max };
  Segments& segments;
  SegmentValues x;
  Count columns = 1;
  Result result = values;
  bool decreasing = false, missing_last = true;
  bool keep_missing = false;  // missing values have the rank NA
  Ties ties = average;
  Count top = 1;
  Output out{};
  Settings settings{};

  // The number of rows of the result, which has outputs() columns for each column of x.
  Count result_rows() const {
    return result == rows ? segments.covered : result == first ? segments.count : segments.values;
  }
  Count outputs() const { return result == first ? 3 * top : 1; }
};

void sort_segments(const SortRequest& request);  // computes a request on the CPU

}  // namespace kernops
