// The R interface of the vector operations of solvers (R/solve_vector_space.R). Each operation runs where its blocks
// are stored: on the CPU or on a GPU.
#include "block.h"

namespace kernops {

Block block_of(SEXP x) {
  if (is_gpu_matrix(x)) {
    const cuda::Matrix& matrix = gpu_matrix(x);
    if (matrix.single()) throw InputError("dim", "blocks of vectors on a GPU must be float64");
    return {matrix.doubles(), matrix.rows, matrix.columns, MemorySpace::device_double, matrix.device};
  }
  if (TYPEOF(x) != REALSXP) throw InputError("dim", "blocks of vectors must be matrices of doubles");
  const SEXP dim = Rf_getAttrib(x, R_DimSymbol);
  const bool matrix = Rf_length(dim) == 2;
  return {REAL(in_memory(x)), matrix ? Count(INTEGER(dim)[0]) : Count(Rf_xlength(x)),
          matrix ? Count(INTEGER(dim)[1]) : 1};
}

const Dense& dense_of(const Block& block) { return choose_backend(nullptr, {block.space}, 0).dense(); }

SEXP new_block(Count rows, Count columns, int device) {
  if (device >= 0) {
    read_memory_limit();
    return wrap_gpu_matrix(std::make_unique<cuda::Matrix>(rows, columns, false, device));
  }
  return zeros(int(rows), int(columns));
}

SEXP to_host(SEXP x) { return is_gpu_matrix(x) ? SEXP(gpu_download(x)) : x; }

SEXP beside(const Block& block, SEXP x) {
  const int device = device_of(block);
  if (!is_gpu_matrix(x)) {
    const Block values = block_of(x);
    if (device < 0) return x;
    auto there = std::make_unique<cuda::Matrix>(values.rows, values.columns, false, device);
    cuda::copy_in(there->memory.pointer(), values.at, there->bytes());
    return wrap_gpu_matrix(std::move(there));
  }
  if (device < 0) return to_host(x);
  const cuda::Matrix& matrix = any_gpu_matrix(x);
  if (matrix.space != MemorySpace::device_double) return gpu_upload(gpu_download(x), "float64", device);
  return matrix.device == device ? x : wrap_gpu_matrix(std::make_unique<cuda::Matrix>(matrix, device));
}

}  // namespace kernops

using namespace kernops;

namespace {

void check_shapes(bool fit) {
  if (!fit) throw InputError("dim", "blocks of vectors must be matrices of matching sizes");
}

void check_same(const Block& x, const Block& y, Count rows, Count columns) {
  check_shapes(x.rows == rows && x.columns == columns && x.space == y.space && x.device == y.device);
}

// Returns one number per column; a single number is repeated for all columns.
Dense::Numbers for_columns(const Rcpp::NumericVector& a, Count columns) {
  if (a.size() != 1 && a.size() != columns) throw InputError("dim", "one number for each column is needed");
  Dense::Numbers all(static_cast<size_t>(columns));
  for (Count n = 0; n < columns; ++n) all[size_t(n)] = a[a.size() == 1 ? 0 : n];
  return all;
}

// Returns a block that may be overwritten: a gpu_matrix itself, or a copy of an R object, because R may share its
// objects.
SEXP writable(SEXP x) {
  if (is_gpu_matrix(x)) return x;
  return allocate(8.0 * double(Rf_xlength(x)), [&] { return Rf_duplicate(x); });
}

}  // namespace

// The device of a block; -1 for the host.
// [[Rcpp::export(rng = false)]]
int block_device(SEXP x) {
  return guard([&] { return is_gpu_matrix(x) ? gpu_matrix(x).device : -1; });
}

// Returns a copy of x as doubles, which shares no memory with x.
// [[Rcpp::export(rng = false)]]
SEXP block_copy(SEXP x, int device) {
  return guard([&]() -> SEXP {
    const SEXP there = beside({nullptr, 0, 0, space_of(device), device}, x);
    if (there != x || device < 0) return there == x ? writable(x) : there;
    return wrap_gpu_matrix(std::make_unique<cuda::Matrix>(gpu_matrix(x), device));
  });
}

// Returns a new block of rows x columns, uninitialised on a GPU.
// [[Rcpp::export(rng = false)]]
SEXP block_new(int rows, int columns, int device) {
  return guard([&]() -> SEXP { return new_block(rows, columns, device); });
}

// Replaces y by a x + b y.
// [[Rcpp::export(rng = false)]]
SEXP block_axpby(Rcpp::NumericVector a, SEXP x, Rcpp::NumericVector b, SEXP y) {
  return guard([&]() -> SEXP {
    const Block from = block_of(x), at = block_of(y);
    check_same(from, at, at.rows, at.columns);
    const Rcpp::Shield<SEXP> result(writable(y));
    dense_of(at).axpby(for_columns(a, at.columns), from, for_columns(b, at.columns), block_of(result));
    return result;
  });
}

// Replaces y by y + d x, with one number d or one per row.
// [[Rcpp::export(rng = false)]]
SEXP block_add_rows(SEXP d, SEXP x, SEXP y) {
  if (!is_gpu_matrix(d) && Rf_xlength(d) == 1) return block_axpby(d, x, Rcpp::NumericVector::create(1), y);
  return guard([&]() -> SEXP {
    const Block from = block_of(x), at = block_of(y), rows = block_of(d);
    check_same(from, at, at.rows, at.columns);
    const Rcpp::Shield<SEXP> result(writable(y));
    check_same(rows, at, at.rows, 1);
    dense_of(at).add_rows(rows, from, block_of(result));
    return result;
  });
}

// Replaces columns of x, given by positions from 1, by the columns of y. x is overwritten, so it must have no other
// owner.
// [[Rcpp::export(rng = false)]]
SEXP block_put(SEXP x, Rcpp::IntegerVector columns, SEXP y) {
  return guard([&]() -> SEXP {
    const Block to = block_of(x), from = block_of(y);
    check_same(from, to, to.rows, columns.size());
    for (const int n : columns) check_shapes(n >= 1 && n <= to.columns);
    dense_of(to).put(to, columns.begin(), from);
    return x;
  });
}

// The scalar products of each column of x with the same column of y.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector block_dots(SEXP x, SEXP y) {
  return guard([&] {
    const Block left = block_of(x), right = block_of(y);
    check_same(left, right, right.rows, right.columns);
    Rcpp::NumericVector sums = new_numbers(double(left.columns));
    dense_of(left).dots(left, right, sums.begin());
    return sums;
  });
}

// t(x) %*% y, on the host.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix block_inner(SEXP x, SEXP y, Rcpp::List settings) {
  return guard([&] {
    const Block left = block_of(x), right = block_of(y);
    check_same(left, right, right.rows, left.columns);
    Rcpp::NumericMatrix products = zeros(int(left.columns), int(right.columns));
    dense_of(left).inner(left, right, products.begin(), read_settings(settings));
    return products;
  });
}

// x_1 C for an R matrix C, where x_1 are the first nrow(C) columns of x.
// [[Rcpp::export(rng = false)]]
SEXP block_combine(SEXP x, Rcpp::NumericMatrix C, Rcpp::List settings) {
  return guard([&]() -> SEXP {
    const Block from = block_of(x);
    if (C.nrow() > from.columns) throw InputError("dim", "there are fewer columns to combine than weights for them");
    const Rcpp::Shield<SEXP> result(new_block(from.rows, C.ncol(), device_of(from)));
    dense_of(from).combine(from, C.begin(), C.nrow(), block_of(result), read_settings(settings));
    return result;
  });
}

// Replaces x by x L^-T for the Cholesky factor L of core + more I, and overwrites core.
// [[Rcpp::export(rng = false)]]
SEXP block_whiten(SEXP x, SEXP core, double more, Rcpp::List settings) {
  return guard([&]() -> SEXP {
    const Rcpp::Shield<SEXP> result(writable(x)), inside(writable(core));
    const Block columns = block_of(result);
    if (!dense_of(columns).whiten(columns, block_of(inside), more, read_settings(settings)))
      throw InputError("input", "The columns of the preconditioner are linearly dependent.");
    return result;
  });
}

// Returns Q and R with (Q; R^-1) R = (x; I), such that the columns of the stacked matrix (Q; R^-1) are orthogonal. x is
// overwritten.
// [[Rcpp::export(rng = false)]]
Rcpp::List block_orthogonal(SEXP x, int passes, Rcpp::List settings) {
  return guard([&] {
    const Rcpp::Shield<SEXP> result(writable(x));
    const Block q = block_of(result);
    Rcpp::NumericMatrix R = zeros(int(q.columns), int(q.columns));
    dense_of(q).orthogonal(q, passes, R.begin(), read_settings(settings));
    return named_list({{"Q", result}, {"R", R}});
  });
}
