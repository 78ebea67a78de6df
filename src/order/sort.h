// Sorted segments: sorted values, permutations, ranks, the largest values; as computed by a Backend.
#pragma once
#include "order/sample.h"

namespace kernops {

struct SortRequest {
  // Row n of column k of x has its value, or its rank, at [k * out.entry + n]; rows outside all segments stay
  // unchanged. `rows` are those of x from 1, segment by segment: `segments.covered` for each column. `first` are the
  // first `top` values of each segment in order, without missing ones, then their positions from 1, then their rows
  // from 1; NA if there are fewer: number n of segment s of column c is at [(n * columns + c) * out.entry + s].
  enum Result { values, rows, ranks, first };
  enum Ties { average, in_turn, in_reverse, min, max };
  Segments& segments;
  SegmentValues x;
  Count columns = 1;
  Result result = values;
  bool decreasing = false, missing_last = true;
  bool keep_missing = false;  // the rank of a missing value is NA
  Ties ties = average;
  Count top = 1;
  Output out{};
  Settings settings{};

  // The number of rows of results; they have as many columns as x, or `outputs` times as many.
  Count result_rows() const {
    return result == rows ? segments.covered : result == first ? segments.count : segments.values;
  }
  Count outputs() const { return result == first ? 3 * top : 1; }
};

void sort_segments(const SortRequest& request);  // on the CPU

}  // namespace kernops
