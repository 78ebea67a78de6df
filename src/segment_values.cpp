// Reads values of segments that are stored in R or on a GPU.
#include "segment_values.h"

#include "gpu_matrix.h"

namespace kernops {
namespace {

bool has_columns(SEXP x) { return Rf_length(Rf_getAttrib(x, R_DimSymbol)) > 1; }
Count size(SEXP x, int dimension) { return INTEGER(Rf_getAttrib(x, R_DimSymbol))[dimension]; }

}  // namespace

Count rows_of(SEXP x) {
  if (is_gpu_matrix(x)) return gpu_matrix(x).rows;
  return has_columns(x) ? size(x, 0) : Rf_xlength(x);
}
Count columns_of(SEXP x) {
  if (is_gpu_matrix(x)) return gpu_matrix(x).columns;
  return has_columns(x) ? size(x, 1) : 1;
}

MemorySpace space_of(const SegmentValues& values) {
  if (!values.on_device) return MemorySpace::host;
  return values.type == SegmentValues::floats ? MemorySpace::device_float : MemorySpace::device_double;
}

SegmentValues read_values(SEXP x, Count rows, Count columns) {
  if (!is_gpu_matrix(x) && Count(Rf_xlength(x)) != rows * columns)
    throw InputError("dim", "the plan is for " + std::to_string(rows) + " values.");
  SegmentValues values;
  values.row = 1, values.column = rows;
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    values.type = matrix.single() ? SegmentValues::floats : SegmentValues::doubles;
    values.on_device = true, values.data = matrix.memory.address();
  } else if (TYPEOF(x) == REALSXP) {
    values.data = REAL(in_memory(x));
  } else {
    values.type = SegmentValues::integers, values.data = INTEGER(in_memory(x));
  }
  return values;
}

void read_operation(const Rcpp::List& operation, SegmentRequest& request) {
  const std::string op = Rcpp::as<std::string>(operation["op"]);
  request.softmax = op == "softmax";
  if (operation.containsElementNamed("exclusive")) {
    request.scan = Rcpp::as<bool>(operation["exclusive"]) ? SegmentScan::exclusive : SegmentScan::inclusive;
    request.reverse = Rcpp::as<bool>(operation["reverse"]);
  }
  request.op = std::max(0, statistic_row(op));
  if (const SEXP formula = operation["formula"]; !Rf_isNull(formula))
    request.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
  if (const SEXP empty = operation["empty"]; !Rf_isNull(empty)) request.empty = REAL(empty);
}

void read_order(const Rcpp::List& how, OrderRequest& request) {
  request.op = how["op"], request.type = how["type"];
  request.nth = Count(Rcpp::as<double>(how["nth"])), request.probs = Rcpp::as<std::vector<double>>(how["probs"]);
  request.skip_missing = how["na.rm"];
  if (const SEXP empty = how["empty"]; !Rf_isNull(empty)) request.empty = REAL(empty);
}

}  // namespace kernops
