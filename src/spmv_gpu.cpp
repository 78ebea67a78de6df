// spmv() on the GPU, seen from R.
#include "cuda/segments/segments.h"
#include "seg_reduce_gpu.h"
#include "segment_values.h"

using namespace kernops;

namespace {

// The entries of a sparse matrix on a device, row by row. The values of R that they were copied from are
// kept: as long as they are, R copies them before it changes them, so that the same values are the same
// memory.
struct SparseEntries {
  SparseEntries(SEXP columns, int device)
      : device(device), count(Rf_xlength(columns)), columns((cuda::use_device(device), size_t(count) * sizeof(int))) {
    cuda::copy_in(this->columns.pointer(), INTEGER(columns), size_t(count) * sizeof(int));
  }
  const int device;
  const R_xlen_t count;
  const cuda::Buffer columns;
  Rcpp::RObject from;
  bool single = false;
  std::unique_ptr<cuda::Buffer> values;
};

template <class T> std::vector<T> in_rows(const Rcpp::NumericVector& values, const Rcpp::IntegerVector& order) {
  std::vector<T> numbers(size_t(values.size()));
  for (size_t n = 0; n < numbers.size(); ++n)
    numbers[n] = T(values[order.size() ? R_xlen_t(order[R_xlen_t(n)]) - 1 : R_xlen_t(n)]);
  return numbers;
}

void bring(SparseEntries& entries, SEXP values, const Rcpp::IntegerVector& order, bool single) {
  if (entries.values && entries.single == single && SEXP(entries.from) == values) return;
  entries.values = std::make_unique<cuda::Buffer>(size_t(entries.count) * (single ? sizeof(float) : sizeof(double)));
  const Rcpp::NumericVector numbers(in_memory(values, REALSXP));  // the same, if they are doubles
  if (single)
    cuda::fill(*entries.values, in_rows<float>(numbers, order).data(), size_t(entries.count));
  else
    cuda::fill(*entries.values, in_rows<double>(numbers, order).data(), size_t(entries.count));
  entries.from = values, entries.single = single;
}

}  // namespace

// Columns from 0, row by row.
// [[Rcpp::export]]
SEXP spmv_upload(Rcpp::IntegerVector columns, int device) {
  return guard([&]() -> SEXP { return external_pointer(std::make_unique<SparseEntries>(columns, device)); });
}

// `values` may be NULL; entry number n of a row is number order[n] of them, from 1, or n if `order` is empty.
// `v` is a vector or matrix, also one of the GPU, whose precision is that of the product.
// [[Rcpp::export]]
SEXP spmv_run_gpu(Rcpp::XPtr<kernops::Segments> segments, SEXP entries, SEXP values, Rcpp::IntegerVector order, SEXP v,
                  double height, double columns, int op, SEXP formula, Rcpp::Nullable<double> empty, SEXP product,
                  double tile, bool stay) {
  return guard([&]() -> SEXP {
    SparseEntries& there = *Rcpp::XPtr<SparseEntries>(entries);
    cuda::SegmentWork work{request_of(*segments, R_NilValue, columns, there.device, tile)};
    work.weights = read_values(v, Count(height), work.columns);
    const bool single = work.weights.type == SegmentValues::floats;
    work.through = static_cast<const int*>(there.columns.address());
    if (!Rf_isNull(values)) {
      bring(there, values, order, single);
      work.x = {single ? SegmentValues::floats : SegmentValues::doubles, true, there.values->address(), 1, 0};
      work.product = Rcpp::XPtr<SegmentFormula>(product).get();
    }
    work.op = op;
    if (!Rf_isNull(formula)) work.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
    const double value = empty.isNotNull() ? Rcpp::as<double>(empty.get()) : 0;
    if (empty.isNotNull()) work.empty = &value;
    auto out = like(nullptr, segments->count, work.columns * cuda::outputs_of(work));
    work.out = target_of(*out);
    cuda::seg_reduce(work);
    cuda::settle(work);
    return hand_over(std::move(out), stay);
  });
}
