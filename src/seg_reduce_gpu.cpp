// seg_reduce() and its relatives on the GPU, seen from R. Results of data that are there, or that stay there,
// are made there whole; those of the host, piece by piece.
#include <kernops/missing.h>

#include "cuda/segments/segments.h"
#include "gpu_matrix.h"
#include "seg_reduce_gpu.h"
#include "segments/missing.h"
#include "segment_values.h"
#include "watch.h"

using namespace kernops;
using cuda::Matrix;
using cuda::SegmentWork;

Output target_of(const Matrix& matrix) {
  return {matrix.doubles(), matrix.rows, 1, matrix.single ? MemorySpace::device_float : MemorySpace::device_double,
          matrix.device};
}

std::unique_ptr<Matrix> like(const Matrix* model, Count rows, Count columns) {
  return std::make_unique<Matrix>(rows, columns, model && model->single, cuda::current_device().number);
}

SEXP hand_over(std::unique_ptr<Matrix> matrix, bool stay) {
  if (stay) return wrap_gpu_matrix(std::move(matrix));
  Rcpp::NumericVector host = new_numbers(double(matrix->length()));
  if (!matrix->single) cuda::copy_out(host.begin(), matrix->memory.pointer(), matrix->bytes());
  if (matrix->single) {
    std::vector<float> floats(size_t(matrix->length()));
    cuda::copy_out(floats.data(), matrix->memory.pointer(), matrix->bytes());
    std::copy(floats.begin(), floats.end(), host.begin());
  }
  return host;
}

SegmentRequest request_of(const Segments& segments, SEXP x, double columns, int device, double tile) {
  read_memory_limit();
  cuda::use_device(is_gpu_matrix(x) ? gpu_matrix(x).device : device);
  SegmentRequest request{segments};
  request.columns = Count(columns);
  if (!Rf_isNull(x)) request.x = read_values(x, segments.values, request.columns);
  request.settings.keep_going = watch(R_NilValue);
  request.tile = Count(tile);
  return request;
}

namespace {

void reduce(const SegmentWork& work) { work.weights.data ? cuda::seg_weighted(work) : cuda::seg_reduce(work); }

SEXP softmax(SegmentWork& work, SEXP x, bool stay) {
  const Count rows = work.segments.values;
  const Matrix* matrix = is_gpu_matrix(x) ? &gpu_matrix(x) : nullptr;
  if (stay || matrix) {
    auto out = like(matrix, rows, work.columns);
    work.out = target_of(*out);
    cuda::seg_softmax(work);
    return hand_over(std::move(out), stay);
  }
  Rcpp::NumericVector out = new_numbers(double(rows) * double(work.columns));
  work.out = {out.begin(), rows, 1};
  cuda::seg_softmax(work);
  return out;
}

// One pass over keys and values finds the runs, and gives one result each.
SEXP reduce_runs(SegmentWork& work, cuda::KeyRuns& runs, bool stay) {
  auto out = like(nullptr, runs.covered, 1);
  work.out = target_of(*out);
  runs.find_and_reduce(work);
  out->rows = runs.count;
  if (2 * runs.count < runs.covered) {  // much would be kept for little
    auto exact = like(nullptr, runs.count, 1);
    cuda::copy_across(exact->memory.pointer(), exact->device, out->memory.pointer(), out->device, out->bytes());
    out = std::move(exact);
  }
  work.out = target_of(*out);
  cuda::settle(work);
  return hand_over(std::move(out), stay);
}

}  // namespace

// As seg_run(); what stays is a gpu_matrix.
// [[Rcpp::export]]
SEXP seg_run_gpu(Rcpp::XPtr<kernops::Segments> segments, SEXP x, double columns, int op, SEXP formula, bool softmaxes,
                 Rcpp::Nullable<double> empty, bool skip_missing, SEXP weights, int device, double tile, bool stay) {
  return guard([&]() -> SEXP {
    SegmentWork work{request_of(*segments, x, columns, device, tile)};
    work.op = op, work.skip_missing = skip_missing;
    if (!Rf_isNull(formula)) work.formula = Rcpp::XPtr<SegmentFormula>(formula).get();
    const double value = empty.isNotNull() ? Rcpp::as<double>(empty.get()) : 0;
    if (empty.isNotNull()) work.empty = &value;
    if (!Rf_isNull(weights)) work.weights = read_values(weights, segments->values, 1), work.weights.column = 0;
    if (auto* runs = dynamic_cast<cuda::KeyRuns*>(segments.get())) {
      if (!softmaxes && runs->can_reduce(work)) return reduce_runs(work, *runs, stay);
      runs->find();
    }
    if (softmaxes) return softmax(work, x, stay);
    const int outputs = cuda::outputs_of(work);
    if (stay || is_gpu_matrix(x)) {
      auto out = like(nullptr, segments->count, work.columns * outputs);
      work.out = target_of(*out);
      reduce(work);
      cuda::settle(work);
      return hand_over(std::move(out), stay);
    }
    Rcpp::NumericVector out = new_numbers(double(segments->count) * double(work.columns) * outputs);
    work.out = {out.begin(), segments->count, 1};
    reduce(work);
    mark_missing(work);
    return out;
  });
}
