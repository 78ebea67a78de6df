// The vector operations of the solvers, of R/vector_space.R, on the GPU: cuda/dense/solve.cuh launched on matrices of
// doubles.
#include <kernops/jobs/matrix.h>

#include <algorithm>

#include "cuda/solver.h"
#include "gpu_matrix.h"

using namespace kernops;
using cuda::Matrix;

namespace {

constexpr int threads = 256, most_parts = 512;
constexpr int inner_tile = 4, most_inner_parts = 256;

unsigned blocks_for(Count n, Count most) { return unsigned(std::max<Count>(1, std::min(n, most))); }

void run(const char* name, unsigned grid_x, Count columns, VectorJob& job) {
  static const std::string text = "#include <kernops/cuda/dense/solve.cuh>\nKERNOPS_SOLVE(" + std::to_string(threads) +
                                  ", " + std::to_string(inner_tile) + ")\n";
  cuda::launch(cuda::function(text, name), grid_x, blocks_for(columns, 65535), threads, &job);
}

// The matrix that was looked at last made its device the current one.
void check_block(const Matrix& x, Count rows, Count columns) {
  if (x.single || x.rows != rows || x.columns != columns || x.device != cuda::current_device().number)
    throw InputError("dim", "blocks of vectors must be float64 matrices of fitting shapes on one device");
}

VectorJob job_for(const Matrix& x, const Matrix& y) {
  check_block(x, y.rows, y.columns);
  check_block(y, x.rows, x.columns);
  VectorJob job{};
  job.x = x.doubles(), job.y = y.doubles();
  job.rows = x.rows, job.columns = int(x.columns);
  return job;
}

// Whether products with matrices of this size are left to cuBLAS, where it is found: opening it takes a while.
bool worth_blas(Count rows, Count columns) { return rows * columns >= 4096 && cuda::has_solver(); }

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
    if (job.rows > 0) run("kernops_axpby", unsigned(ceil_div(job.rows, threads)), job.columns, job);
    return y;
  });
}

// The scalar product of each column of x with that of y.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector gpu_dots(SEXP x, SEXP y) {
  return guard([&] {
    VectorJob job = job_for(gpu_matrix(x), gpu_matrix(y));
    Rcpp::NumericVector sums = new_numbers(job.columns);
    job.parts = int(blocks_for(ceil_div(job.rows, 8 * threads), most_parts));
    const cuda::Buffer memory(size_t(job.columns) * (job.parts + 1) * sizeof(double));
    job.sums = static_cast<double*>(memory.address()), job.partials = job.sums + job.columns;
    run("kernops_dot_parts", unsigned(job.parts), job.columns, job);
    run("kernops_dot_sums", blocks_for(job.columns, 65535), 1, job);
    cuda::copy_out(sums.begin(), memory.pointer(), size_t(job.columns) * sizeof(double));
    return sums;
  });
}

// A matrix with nothing in it yet.
// [[Rcpp::export(rng = false)]]
SEXP gpu_new(int rows, int columns, int device) {
  return guard([&]() -> SEXP { return wrap_gpu_matrix(std::make_unique<Matrix>(rows, columns, false, device)); });
}

// Columns of x, by positions from 1, become those of y; x is returned.
// [[Rcpp::export(rng = false)]]
SEXP gpu_put(SEXP x, Rcpp::IntegerVector columns, SEXP y) {
  return guard([&]() -> SEXP {
    Matrix &to = gpu_matrix(x), &from = gpu_matrix(y);
    check_block(to, from.rows, to.columns);
    check_block(from, to.rows, columns.size());
    const size_t bytes = size_t(to.rows) * sizeof(double);
    for (Count n = 0; n < columns.size() && bytes > 0; ++n)
      cuda::driver().check(cuda::driver().cuMemcpyDtoD_v2(to.memory.pointer() + size_t(columns[n] - 1) * bytes,
                                                          from.memory.pointer() + size_t(n) * bytes, bytes),
                           "copying on the GPU");
    return x;
  });
}

// The same on the host: x is written into, so it must have no other owner.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix host_put(Rcpp::NumericMatrix x, Rcpp::IntegerVector columns, Rcpp::NumericMatrix y) {
  return guard([&] {
    if (y.nrow() != x.nrow() || y.ncol() != columns.size())
      throw InputError("dim", "blocks of vectors must be matrices of fitting shapes");
    for (Count n = 0; n < columns.size(); ++n) {
      const auto column = y.begin() + n * y.nrow();
      std::copy(column, column + y.nrow(), x.begin() + Count(columns[n] - 1) * x.nrow());
    }
    return x;
  });
}

// y becomes y + d x, with a number d for each row, and is returned.
// [[Rcpp::export(rng = false)]]
SEXP gpu_add_rows(SEXP d, SEXP x, SEXP y) {
  return guard([&]() -> SEXP {
    VectorJob job = job_for(gpu_matrix(x), gpu_matrix(y));
    check_block(gpu_matrix(d), job.rows, 1);
    job.a = gpu_matrix(d).doubles();
    if (job.rows > 0) run("kernops_add_rows", unsigned(ceil_div(job.rows, threads)), job.columns, job);
    return y;
  });
}

// t(x) y, on the host.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix gpu_inner(SEXP x, SEXP y) {
  return guard([&] {
    const Matrix &left = gpu_matrix(x), &right = gpu_matrix(y);
    check_block(left, right.rows, left.columns);
    check_block(right, left.rows, right.columns);
    Rcpp::NumericMatrix products = zeros(int(left.columns), int(right.columns));
    if (products.size() == 0) return products;
    if (worth_blas(left.columns, right.columns)) {
      const cuda::Buffer there(size_t(products.size()) * sizeof(double));
      cuda::product(true, left.columns, right.columns, left.rows, left.doubles(), right.doubles(), 0,
                    static_cast<double*>(there.address()));
      cuda::copy_out(products.begin(), there.pointer(), size_t(products.size()) * sizeof(double));
      return products;
    }
    VectorJob job{};
    job.x = left.doubles(), job.y = right.doubles();
    job.rows = left.rows, job.inner = int(left.columns), job.columns = int(right.columns);
    job.parts = int(blocks_for(ceil_div(job.rows, 8 * threads), most_inner_parts));
    const Count count = products.size();
    const cuda::Buffer memory(size_t(count) * (job.parts + 1) * sizeof(double));
    job.sums = static_cast<double*>(memory.address()), job.partials = job.sums + count;
    const Count tiles = ceil_div(job.inner, inner_tile) * ceil_div(job.columns, inner_tile);
    run("kernops_inner_parts", unsigned(job.parts), tiles, job);
    job.columns = int(count);
    run("kernops_dot_sums", blocks_for(count, 65535), 1, job);
    cuda::copy_out(products.begin(), memory.pointer(), size_t(count) * sizeof(double));
    return products;
  });
}

// x C, for as many of the first columns of x as C has rows.
// [[Rcpp::export(rng = false)]]
SEXP gpu_combine(SEXP x, Rcpp::NumericMatrix C) {
  return guard([&]() -> SEXP {
    const Matrix& from = gpu_matrix(x);
    if (C.nrow() > from.columns) throw InputError("dim", "there are fewer columns to combine than weights for them");
    check_block(from, from.rows, from.columns);
    auto out = std::make_unique<Matrix>(from.rows, C.ncol(), false, from.device);
    const cuda::Buffer there(size_t(C.size()) * sizeof(double));
    cuda::copy_in(there.pointer(), C.begin(), size_t(C.size()) * sizeof(double));
    if (out->length() > 0 && worth_blas(C.nrow(), C.ncol())) {
      cuda::product(false, from.rows, C.ncol(), C.nrow(), from.doubles(), static_cast<double*>(there.address()), 0,
                    out->doubles());
      return wrap_gpu_matrix(std::move(out));
    }
    VectorJob job{};
    job.x = from.doubles(), job.y = out->doubles(), job.a = static_cast<const double*>(there.address());
    job.rows = from.rows, job.inner = C.nrow(), job.columns = C.ncol();
    const Count tiles = ceil_div(job.columns, inner_tile);
    if (out->length() > 0) run("kernops_combine", unsigned(ceil_div(job.rows, threads)), tiles, job);
    return wrap_gpu_matrix(std::move(out));
  });
}
