// The vector operations of kernel_solve() on the GPU: solve.cuh launched on matrices of doubles.
#include <kernops/device_job.h>

#include <algorithm>

#include "gpu_matrix.h"

using namespace kernops;
using cuda::Matrix;

namespace {

constexpr int threads = 256, most_parts = 512;

unsigned blocks_for(Count n, Count most) { return unsigned(std::max<Count>(1, std::min(n, most))); }

void run(const char* name, unsigned grid_x, Count columns, VectorJob& job) {
  static const std::string text =
      "#include <kernops/solve.cuh>\nKERNOPS_SOLVE(" + std::to_string(threads) + ")\n";
  cuda::launch(cuda::function(text, name), grid_x, blocks_for(columns, 65535), threads, &job);
}

VectorJob job_for(const Matrix& x, const Matrix& y) {
  if (x.single || y.single || x.rows != y.rows || x.columns != y.columns || x.device != y.device)
    throw InputError("dim", "blocks of vectors must be float64 matrices of one shape on one device");
  VectorJob job{};
  job.x = x.doubles(), job.y = y.doubles();
  job.rows = x.rows, job.columns = int(x.columns);
  return job;
}

// One number for all columns, or one for each.
std::vector<double> for_columns(const Rcpp::NumericVector& a, Count columns) {
  if (a.size() != 1 && a.size() != columns) throw InputError("dim", "one number for each column is needed");
  std::vector<double> all(columns);
  for (Count n = 0; n < columns; ++n) all[n] = a[a.size() == 1 ? 0 : n];
  return all;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP gpu_copy(SEXP x, int device) {
  return guard([&]() -> SEXP { return wrap_gpu_matrix(std::make_unique<Matrix>(gpu_matrix(x), device)); });
}

// y becomes a x + b y, and is returned.
// [[Rcpp::export(rng = false)]]
SEXP gpu_axpby(Rcpp::NumericVector a, SEXP x, Rcpp::NumericVector b, SEXP y) {
  return guard([&]() -> SEXP {
    VectorJob job = job_for(gpu_matrix(x), gpu_matrix(y));
    std::vector<double> factors = for_columns(a, job.columns);
    const std::vector<double> second = for_columns(b, job.columns);
    factors.insert(factors.end(), second.begin(), second.end());
    const cuda::Buffer there(factors.size() * sizeof(double));
    cuda::copy_in(there.pointer(), factors.data(), factors.size() * sizeof(double));
    job.a = static_cast<const double*>(there.address()), job.b = job.a + job.columns;
    if (job.rows > 0) run("kernops_axpby", unsigned((job.rows + threads - 1) / threads), job.columns, job);
    return y;
  });
}

// The scalar product of each column of x with that of y.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector gpu_dots(SEXP x, SEXP y) {
  return guard([&] {
    VectorJob job = job_for(gpu_matrix(x), gpu_matrix(y));
    Rcpp::NumericVector sums(job.columns);
    job.parts = int(blocks_for((job.rows + 8 * threads - 1) / (8 * threads), most_parts));
    const cuda::Buffer memory(size_t(job.columns) * (job.parts + 1) * sizeof(double));
    job.sums = static_cast<double*>(memory.address()), job.partials = job.sums + job.columns;
    run("kernops_dot_parts", unsigned(job.parts), job.columns, job);
    run("kernops_dot_sums", blocks_for(job.columns, 65535), 1, job);
    cuda::copy_out(sums.begin(), memory.pointer(), size_t(job.columns) * sizeof(double));
    return sums;
  });
}
