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
    values.data = REAL(in_memory(x));
  } else {
    values.type = SegmentValues::integers, values.data = INTEGER(in_memory(x));
  }
  return values;
}
