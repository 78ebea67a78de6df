// Sets results to NA if there is an NA among the values of a segment.
#include <kernops/missing.h>

#include "segments/passes.h"

namespace kernops {
namespace {

bool is_nan(double x) { return x != x; }
bool is_unmarked(double x) { return x != x && !is_missing(x); }

bool missing_at(const SegmentValues& x, Count column, Count row) {
  return x.data && is_missing(value_at(x, column, row));
}

// Calls body(row of the result, row of x) for all values of the segments for which wanted(row of the result) is true.
// If the segments are groups, `wanted` is ignored, and the values of all groups are visited.
template <class Wanted, class Body> void each_value(const Segments& segments, Wanted wanted, Body body) {
  if (segments.groups) {
    for (Count n = 0; n < segments.values; ++n)
      if (segments.groups[n] >= 0) body(segments.groups[n], n);
    return;
  }
  const std::vector<Count>& offsets = segments.offsets();
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count row = segments.row(s), begin = offsets[s];
    if (!wanted(row)) continue;
    const Count from = segments.sources.empty() ? begin : segments.sources[s];
    for (Count k = 0; k < offsets[s + 1] - begin; ++k) body(row, from + k);
  }
}

// Changes NaN to NA in the results of a softmax that missing values affect. A missing value makes all results of its
// segment missing. If missing values are skipped, only the result of the missing value itself is missing.
void mark_softmax(const SegmentRequest& request, Count column) {
  std::vector<char> marked(size_t(request.segments.count), 0);
  const auto all = [](Count) { return true; };
  const auto result = [&](Count row) -> double& {
    return request.out.data[column * request.out.entry + row * request.out.row];
  };
  const auto is_gap = [&](Count n) { return missing_at(request.x, column, n); };
  if (!request.skip_missing) each_value(request.segments, all, [&](Count row, Count n) { marked[row] |= is_gap(n); });
  each_value(request.segments, all, [&](Count row, Count n) {
    if (is_nan(result(n)) && (marked[row] || is_gap(n))) result(n) = missing();
  });
}

// Calls body(row of the result, row of x) for all values. The values of a segment are visited in the direction of the
// scan.
template <class Body> void each_scanned(const SegmentRequest& request, Body body) {
  const Segments& segments = request.segments;
  if (segments.groups) {
    for (Count k = 0; k < segments.values; ++k) {
      const Count n = request.reverse ? segments.values - 1 - k : k;
      if (segments.groups[n] >= 0) body(segments.groups[n], n);
    }
    return;
  }
  const std::vector<Count>& offsets = segments.offsets();
  for (Count s = 0; s < segments.segments(); ++s) {
    const Count first = offsets[size_t(s)], length = offsets[size_t(s) + 1] - first;
    for (Count k = 0; k < length; ++k) body(segments.row(s), first + (request.reverse ? length - 1 - k : k));
  }
}

// Changes NaN to NA in the results of a scan that missing values affect. A missing value makes its own result and all
// later results of its segment missing.
void mark_scan(const SegmentRequest& request, Count column) {
  std::vector<char> marked(size_t(request.segments.count), 0);
  each_scanned(request, [&](Count row, Count n) {
    char& gap = marked[size_t(row)];
    const bool before = gap;
    gap |= missing_at(request.x, column, n);
    if (!(request.scan == SegmentScan::exclusive ? before : bool(gap))) return;
    for (int o = 0; o < request.outputs(); ++o) {
      double& result = request.out.data[(o * request.columns + column) * request.out.entry + n * request.out.row];
      if (is_nan(result)) result = missing();
    }
  });
}

}  // namespace

double value_at(const SegmentValues& values, Count column, Count row) {
  const Count at = column * values.column + row * values.row;
  if (values.type == SegmentValues::doubles) return static_cast<const double*>(values.data)[at];
  const int whole = static_cast<const int*>(values.data)[at];
  return whole == INT32_MIN ? missing() : double(whole);
}

void mark_missing_on_host(const SegmentRequest& request) {
  const bool named = !request.formula && !request.softmax;
  if (request.skip_missing && !request.softmax) return;
  const StatisticId op = StatisticId(request.op);
  if (named && (op == StatisticId::first || op == StatisticId::last)) return;  // first or last value, NA included
  const int outputs = request.outputs();
  const bool paired = !request.weight_of;
  const Count rows = request.rows();
  for (Count column = 0; column < request.columns; ++column) {
    const auto result = [&](int o, Count row) -> double& {
      return request.out.data[(o * request.columns + column) * request.out.entry + row * request.out.row];
    };
    bool any = false;
    for (Count row = 0; row < rows; ++row) any |= is_unmarked(result(0, row));
    if (!any) continue;
    if (request.by_value()) {
      request.softmax ? mark_softmax(request, column) : mark_scan(request, column);
      continue;
    }
    const auto wanted = [&](Count row) { return is_nan(result(0, row)); };
    each_value(request.segments, wanted, [&](Count row, Count n) {
      if (!missing_at(request.x, column, n) && !(paired && missing_at(request.weights, column, n))) return;
      for (int o = 0; o < outputs; ++o)
        if (is_nan(result(o, row))) result(o, row) = missing();
    });
  }
}

}  // namespace kernops
