// The R interface of covariance matrices and their Cholesky factors (R/lik_exact.R). Each operation runs where its
// matrix is stored: on the CPU or on a GPU.
#include "block.h"

using namespace kernops;

namespace {

ArrayRef parameters(const Rcpp::NumericVector& theta) { return {theta.begin(), 1, 0}; }

// Returns b, or a copy of b, as a matrix that may be overwritten, in the memory that stores the factor.
SEXP vectors_for(const Block& factor, SEXP b) {
  const SEXP there = beside(factor, b);
  if (block_of(there).rows != factor.rows) throw InputError("dim", "vectors must fit the factor");
  if (there != b || is_gpu_matrix(b)) return there;
  return allocate(8.0 * double(Rf_xlength(b)), [&] { return Rf_duplicate(b); });
}

// Multiplies a square matrix by b, by the function product(matrix, b, to), and returns the product as an R matrix.
template <class Product> SEXP multiplied(SEXP matrix, SEXP b, Product product) {
  const Block at = block_of(matrix);
  const Rcpp::Shield<SEXP> there(beside(at, b));
  const Block from = block_of(there);
  if (from.rows != at.rows) throw InputError("dim", "vectors must fit the factor");
  const Rcpp::Shield<SEXP> result(new_block(from.rows, from.columns, device_of(at)));
  product(at, from, block_of(result));
  return to_host(result);
}

}  // namespace

// The number of the GPU that would factorise an n x n matrix; -1 if the CPU would do so.
// [[Rcpp::export(rng = false)]]
int factor_device(double n, std::string backend, int device) {
  return guard([&] {
    const Backend& chosen = choose_backend(backend_named(backend), {}, n * n * n);
    const std::string problem = chosen.dense().problem();
    if (problem.empty()) return chosen.holds(MemorySpace::device_double) ? device : -1;
    if (backend == "auto") return -1;
    throw InputError("cuda",
                     "The exact method cannot be used on the GPU: " + problem +
                         ". `method = \"iterative\"` does not need cuSOLVER; `backend = \"cpu\"` always works.");
  });
}

// The reason why a backend cannot factorise matrices; an empty string if it can.
// [[Rcpp::export(rng = false)]]
std::string factor_problem(std::string backend) {
  return guard([&] { return choose_backend(backend_named(backend), {}, 0).dense().problem(); });
}

// Returns the reason why dense linear algebra is not available on a device (-1: the CPU), or an empty string if it is
// available.
// [[Rcpp::export(rng = false)]]
std::string block_problem(int device) {
  return guard([&] { return dense_of({nullptr, 0, 0, space_of(device), device}).problem(); });
}

// Allocates an n x n matrix, as a block.
// [[Rcpp::export(rng = false)]]
SEXP factor_new(int n, int device) {
  return guard([&]() -> SEXP {
    const Dense& dense = dense_of({nullptr, 0, 0, space_of(device), device});
    return new_block(n, dense.columns_for(n), device);
  });
}

// Writes the lower triangle of the covariance matrix k(x, x) into k; the entries above the diagonal are undefined.
// `kernel` is a compiled formula that stores the covariance of each pair.
// [[Rcpp::export(rng = false)]]
void covariance_fill(SEXP k, Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta, SEXP x,
                     Rcpp::List settings) {
  guard([&] {
    const Block at = block_of(k);
    const Rcpp::Shield<SEXP> points(beside(at, x));
    const Block u = block_of(points);
    if (at.rows != u.rows || at.columns < u.rows)
      throw InputError("dim", "a covariance matrix must have the size of its points");
    dense_of(at).covariance(*kernel, parameters(theta), u, u, true, at, read_settings(settings));
    return 0;
  });
}

// Adds `added` to the diagonal of k and replaces the lower triangle of k by its Cholesky factor, in place. Returns 0,
// or the row of the first pivot that is not positive.
// [[Rcpp::export(rng = false)]]
double factor_matrix(SEXP k, Rcpp::NumericVector added, Rcpp::List settings) {
  return guard([&] {
    const Block at = block_of(k);
    if (added.size() != at.rows) throw InputError("dim", "a diagonal must have the size of its matrix");
    const Rcpp::Shield<SEXP> diagonal(beside(at, added));
    return double(dense_of(at).factor(at, block_of(diagonal), read_settings(settings)));
  });
}

// The matrix k(x, y), stored where `beside_this` is stored.
// [[Rcpp::export(rng = false)]]
SEXP covariance_block(SEXP beside_this, Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta, SEXP x, SEXP y,
                      Rcpp::List settings) {
  return guard([&]() -> SEXP {
    const Block there = block_of(beside_this);
    const Rcpp::Shield<SEXP> rows(beside(there, x)), columns(beside(there, y));
    const Block u = block_of(rows), v = block_of(columns);
    const Rcpp::Shield<SEXP> k(new_block(u.rows, v.rows, device_of(there)));
    dense_of(there).covariance(*kernel, parameters(theta), u, v, false, block_of(k), read_settings(settings));
    return k;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector factor_diagonal(SEXP factor) {
  return guard([&] { return numbers_of(dense_of(block_of(factor)).diagonal(block_of(factor))); });
}

// Returns L^-1 b, or L^-T b if `transposed`, for the Cholesky factor L. The result is in the same memory as b, on the
// host or on the GPU. A gpu_matrix b is overwritten.
// [[Rcpp::export(rng = false)]]
SEXP factor_apply_inverse(SEXP factor, SEXP b, bool transposed, Rcpp::List settings) {
  return guard([&]() -> SEXP {
    const Block l = block_of(factor);
    const Rcpp::Shield<SEXP> there(vectors_for(l, b));
    dense_of(l).solve(l, transposed, block_of(there), read_settings(settings));
    return is_gpu_matrix(b) ? SEXP(there) : to_host(there);
  });
}

// L b for the Cholesky factor L; all matrices are on the host.
// [[Rcpp::export(rng = false)]]
SEXP factor_times(SEXP factor, SEXP b) {
  return guard([&]() -> SEXP {
    return multiplied(factor, b, [](const Block& a, const Block& x, const Block& to) { dense_of(a).times(a, x, to); });
  });
}

// The diagonal of the inverse of the factorised matrix; the factor is not changed.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector factor_diagonal_of_inverse(SEXP factor, Rcpp::List settings) {
  return guard([&] {
    const Block l = block_of(factor);
    return numbers_of(dense_of(l).diagonal_of_inverse(l, read_settings(settings)));
  });
}

// Replaces the factor L by a matrix that represents the inverse of L L' (src/dense/algebra.h), and returns this matrix.
// Only the next three functions read this matrix.
// [[Rcpp::export(rng = false)]]
SEXP factor_invert(SEXP factor, Rcpp::List settings) {
  return guard([&]() -> SEXP {
    dense_of(block_of(factor)).invert(block_of(factor), read_settings(settings));
    return factor;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector factor_inverse_diagonal(SEXP inverse) {
  return guard([&] { return numbers_of(dense_of(block_of(inverse)).inverse_diagonal(block_of(inverse))); });
}

// The product (L L')^-1 b; all matrices are on the host.
// [[Rcpp::export(rng = false)]]
SEXP factor_inverse_times(SEXP inverse, SEXP b) {
  return guard([&]() -> SEXP {
    return multiplied(inverse, b,
                      [](const Block& a, const Block& x, const Block& to) { dense_of(a).inverse_times(a, x, to); });
  });
}

// The sum over all i, j of W_ij dk(x_i, x_j) / dtheta, where W = (L L')^-1 - left right'. `operators` has two kernels:
// `stored` stores the derivatives of each pair, and `weighted` computes for each x_i the gradient of sum_j (w_i | e_j)
// k(x_i, y_j), where the inner product of the vectors w_i and e_j is the weight of a pair.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector factor_weighted_derivatives(SEXP inverse, Rcpp::List operators, Rcpp::NumericVector theta, SEXP x,
                                                SEXP left, SEXP right, Rcpp::List settings) {
  return guard([&] {
    const Rcpp::XPtr<Kernel> stored{SEXP(operators["stored"])}, weighted{SEXP(operators["weighted"])};
    const Block at = block_of(inverse);
    const Rcpp::Shield<SEXP> points(beside(at, x)), l(beside(at, left)), r(beside(at, right));
    return numbers_of(dense_of(at).weighted_derivatives(*stored, *weighted, parameters(theta), block_of(points), at,
                                                        block_of(l), block_of(r), read_settings(settings)));
  });
}

// The relative rounding error of the entries of a covariance matrix that is computed where `factor` is stored, in
// machine epsilons.
// [[Rcpp::export(rng = false)]]
double factor_rounding(SEXP factor) {
  return guard([&] { return dense_of(block_of(factor)).rounding(); });
}
