// The R interface of axis_reduce() and softmax().
#include "axes/axes.h"
#include "result.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

namespace {

// Each row of `runs` describes a run of adjacent dimensions by four numbers: the number of entries; the distance of
// successive entries in memory; the difference of the numbers of successive entries; and 1 if the dimensions are
// reduced, otherwise 0. The number of an entry is the number of a result if the dimensions are kept, and the number of
// a position in a slice if the dimensions are reduced.
SliceJob slice_job(const Rcpp::NumericMatrix& runs) {
  SliceJob job{};
  job.results = job.slice = 1;
  for (int n = 0; n < runs.nrow(); ++n) {
    Runs& side = runs(n, 3) ? job.reduced : job.kept;
    if (side.count == Runs::most) throw InputError("dim", "the array has too many dimensions to be reduced");
    side.run[side.count++] = {Count(runs(n, 0)), Count(runs(n, 1)), Count(runs(n, 2))};
    (runs(n, 3) ? job.slice : job.results) *= Count(runs(n, 0));
  }
  return job;
}

// Sets the values of a request, which are an R array or a gpu_matrix.
void read_values(SEXP x, AxisRequest& request) {
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    request.from = matrix.space;
    request.settings.devices = {matrix.device};
    if (matrix.single())
      request.job.floats = static_cast<const float*>(matrix.memory.address());
    else
      request.job.doubles = matrix.doubles();
    return;
  }
  in_memory(x);
  request.values = Count(Rf_xlength(x));
  if (TYPEOF(x) == REALSXP)
    request.job.doubles = REAL(x);
  else
    request.job.integers = TYPEOF(x) == INTSXP ? INTEGER(x) : LOGICAL(x);
}

}  // namespace

// x holds doubles, integers or logicals, or is a gpu_matrix; `operation` is a list made by segment_operation() of R.
// The results are doubles, and the results of a slice are contiguous. Results that stay on the GPU are a matrix with
// `rows` rows; `rows` is -1 if x is not a matrix.
// [[Rcpp::export(rng = false)]]
SEXP axis_run(SEXP x, Rcpp::NumericMatrix runs, Rcpp::List operation, bool skip_missing, double alpha, double rows,
              Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    AxisRequest request;
    request.job = slice_job(runs);
    Segments none;
    SegmentRequest asked{none};
    read_operation(operation, asked);
    request.job.skip = skip_missing, request.job.alpha = alpha, request.job.op = asked.op;
    request.softmax = asked.softmax, request.formula = asked.formula;
    if (asked.empty) request.job.empty = *asked.empty;
    request.settings = read_settings(settings);
    const bool stay = request.settings.stay;
    read_values(x, request);
    const Backend& chosen = choose_backend(request.settings.backend, {request.from}, 0);
    check_stays(stay, chosen);
    if (stay && rows < 0) throw InputError("dim", "`output = \"gpu\"` needs a matrix.");
    const Count length = request.results(), height = stay ? Count(rows) : length;
    Result result(stay, request.settings.devices[0], height, height > 0 ? length / height : 0,
                  request.softmax && request.job.floats);
    const Output out = result.output();
    request.to = out.space, request.job.out = out.data;
    if (out.space == MemorySpace::device_float) request.job.out_floats = reinterpret_cast<float*>(out.data);
    chosen.axes(request);
    return result.give(stay);
  });
}

// [[Rcpp::export(rng = false)]]
std::string axis_source(std::string op, std::string type, bool skip) {
  return guard_new([&] { return cuda::axis_source(op, type, skip); });
}
