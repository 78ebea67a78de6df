// Values of segments as R holds them, or a GPU.
#include "segment_values.h"

#include "gpu_matrix.h"

using namespace kernops;

SegmentValues read_values(SEXP x, Count rows, Count columns) {
  if (!is_gpu_matrix(x) && Count(Rf_xlength(x)) != rows * columns)
    throw InputError("dim", "the plan is for " + std::to_string(rows) + " values.");
  SegmentValues values;
  values.row = 1, values.column = rows;
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    values.type = matrix.single ? SegmentValues::floats : SegmentValues::doubles;
    values.on_device = true, values.data = matrix.memory.address();
  } else if (TYPEOF(x) == REALSXP) {
    values.data = REAL(x);
  } else {
    values.type = SegmentValues::integers, values.data = INTEGER(x);
  }
  return values;
}

// NaN becomes NA where one of the values was NA.
void mark_missing(const SegmentRequest& request, int outputs) {
  const Segments& segments = request.segments;
  if (request.skip_missing || request.x.on_device || request.softmax) return;
  const auto result = [&](int o, Count column, Count row) -> double& {
    return request.out.data[(o * request.columns + column) * request.out.entry + row * request.out.row];
  };
  const auto is_nan = [](double value) { return value != value; };
  const auto missing = [&](Count column, Count row) {
    const Count at = column * request.x.column + row * request.x.row;
    return request.x.type == SegmentValues::integers
               ? static_cast<const int*>(request.x.data)[at] == NA_INTEGER
               : bool(R_IsNA(static_cast<const double*>(request.x.data)[at]));
  };
  for (Count column = 0; column < request.columns; ++column) {
    bool any = false;
    for (int o = 0; o < outputs; ++o) {
      const double* results = &result(o, column, 0);
      for (Count row = 0; row < segments.count; ++row) any |= is_nan(results[row]);
    }
    if (!any) continue;
    const auto mark = [&](Count row, Count value) {
      if (!missing(column, value)) return;
      for (int o = 0; o < outputs; ++o)
        if (is_nan(result(o, column, row))) result(o, column, row) = NA_REAL;
    };
    if (segments.groups) {
      for (Count n = 0; n < segments.values; ++n)
        if (segments.groups[n] >= 0) mark(segments.groups[n], n);
      continue;
    }
    for (Count s = 0; s < segments.segments(); ++s) {
      const Count row = segments.row(s), begin = segments.offsets[s];
      if (!is_nan(result(0, column, row))) continue;
      const Count from = segments.sources.empty() ? begin : segments.sources[s];
      for (Count k = 0; k < segments.offsets[s + 1] - begin; ++k) mark(row, from + k);
    }
  }
}
