// axis_reduce() and softmax() seen from R.
#include "axes/axes.h"
#include "gpu_matrix.h"
#include "watch.h"

using namespace kernops;

namespace {

// `runs` has columns size, stride, number and whether it is reduced.
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

int row_of(const std::string& op) {
  for (size_t row = 0; row < statistics().size(); ++row)
    if (statistics()[row].name == op) return int(row);
  return -1;
}

}  // namespace

// x holds doubles, integers or logicals. Results are doubles, those of one slice side by side.
// [[Rcpp::export]]
Rcpp::NumericVector axis_run(SEXP x, Rcpp::NumericMatrix runs, std::string op, bool skip, double alpha, int threads,
                             std::string isa) {
  return guard([&] {
    SliceJob job = slice_job(runs);
    in_memory(x);
    if (TYPEOF(x) == REALSXP)
      job.doubles = REAL(x);
    else
      job.integers = TYPEOF(x) == INTSXP ? INTEGER(x) : LOGICAL(x);
    job.skip = skip, job.alpha = alpha, job.op = row_of(op);
    Settings settings;
    settings.threads = threads, settings.isa = isa, settings.keep_going = watch(R_NilValue);
    const bool softmax = op == "softmax";
    const Count outputs = softmax ? job.slice : statistics().at(job.op).outputs;
    Rcpp::NumericVector out = new_numbers(double(job.results) * double(outputs));
    job.out = out.begin();
    softmax ? cpu::axis_softmax(job, settings) : cpu::axis_reduce(job, settings);
    return out;
  });
}

namespace {

// Values of R on the GPU, for as long as this lives.
class OnGpu {
 public:
  OnGpu(SEXP x, SliceJob& job) {
    const size_t length = size_t(Rf_xlength(x));
    const bool real = TYPEOF(x) == REALSXP;
    const size_t bytes = length * (real ? sizeof(double) : sizeof(int));
    memory_ = std::make_unique<cuda::Buffer>(bytes);
    if (real)
      job.doubles = static_cast<const double*>(memory_->address());
    else
      job.integers = static_cast<const int*>(memory_->address());
    cuda::copy_in(memory_->pointer(),
                  real                  ? static_cast<const void*>(REAL(x))
                  : TYPEOF(x) == INTSXP ? INTEGER(x)
                                        : LOGICAL(x),
                  bytes);
  }

 private:
  std::unique_ptr<cuda::Buffer> memory_;
};

}  // namespace

// The same on the GPU. x may be a gpu_matrix; what stays is one, of so many rows.
// [[Rcpp::export]]
SEXP axis_run_cuda(SEXP x, Rcpp::NumericMatrix runs, std::string op, bool skip, double alpha, bool stay, double rows,
                   int device) {
  return guard([&]() -> SEXP {
    cuda::use_device(device);
    SliceJob job = slice_job(runs);
    std::unique_ptr<OnGpu> values;
    const cuda::Matrix* matrix = is_gpu_matrix(x) ? &gpu_matrix(x) : nullptr;
    if (!matrix)
      in_memory(x), values = std::make_unique<OnGpu>(x, job);
    else if (matrix->single)
      job.floats = static_cast<const float*>(matrix->memory.address());
    else
      job.doubles = matrix->doubles();
    job.skip = skip, job.alpha = alpha, job.op = row_of(op);
    const bool softmax = op == "softmax", single = softmax && job.floats;
    const Count length = job.results * (softmax ? job.slice : statistics().at(job.op).outputs);
    const Count height = stay ? Count(rows) : length;
    auto out =
        std::make_unique<cuda::Matrix>(height, height > 0 ? length / height : 0, single, cuda::current_device().number);
    job.out = out->doubles();
    if (single) job.out_floats = static_cast<float*>(out->memory.address());
    softmax ? cuda::axis_softmax(job) : cuda::axis_reduce(job);
    if (stay) return wrap_gpu_matrix(std::move(out));
    if (single) return gpu_download(Rcpp::Shield<SEXP>(wrap_gpu_matrix(std::move(out))));
    Rcpp::NumericVector result = new_numbers(double(length));
    cuda::copy_out(result.begin(), out->memory.pointer(), out->bytes());
    return result;
  });
}

// [[Rcpp::export]]
std::string axis_source(std::string op, std::string type, bool skip) {
  return guard([&] { return cuda::axis_source(op, type, skip); });
}
