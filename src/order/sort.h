// Segments in order: sorted values, permutations, ranks, the largest values; as a Backend computes them.
#pragma once
#include "order/sample.h"

namespace kernops {

struct SortRequest {
  // Row n of column k of x has its value, or its rank, at [k * out.entry + n]; rows in no segment stay as they are.
  // `rows` are those of x from 1, segment by segment: `segments.covered` of them for each column. `first` are the first
  // `top` values of each segment in order, without missing ones, then their places from 1, then their rows from 1; NA
  // where there are fewer: number n of segment s of column c is at [(n * columns + c) * out.entry + s].
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

  // Results have so many rows, and as many columns as x, or `outputs` times as many.
  Count result_rows() const {
    return result == rows ? segments.covered : result == first ? segments.count : segments.values;
  }
  Count outputs() const { return result == first ? 3 * top : 1; }
};

void sort_segments(const SortRequest& request);  // by the CPU

}  // namespace kernops
