// The sparse Cholesky factor for R/solve_sparse_symmetric.R.
#include "neighbours/cholesky.h"

#include "border.h"
#include "settings.h"
#include "whole_numbers.h"

using namespace kernops;
using neighbours::LowerTriangle;
using neighbours::SparseCholesky;

namespace {

SparseCholesky& cholesky_of(SEXP held) { return *Rcpp::XPtr<SparseCholesky>(held); }

const SparseCholesky& factored(SEXP held) {
  const SparseCholesky& cholesky = cholesky_of(held);
  if (!cholesky.factored()) throw InputError("input", "the matrix has no factor yet");
  return cholesky;
}

void check_values(const Rcpp::NumericVector& values, const SparseCholesky& of) {
  if (values.size() != of.pattern_entries()) throw InputError("dim", "each entry has a value");
}

}  // namespace

// Computes the fill-reducing ordering of a symmetric matrix. `row` has the rows, counted from 0, of the entries of the
// lower triangle of the matrix. Also returns the costs of the factor: the number of entries, and the number of
// operations.
// [[Rcpp::export(rng = false)]]
Rcpp::List sparse_cholesky(Rcpp::IntegerVector start, Rcpp::IntegerVector row) {
  return guard_new([&] {
    if (start.size() < 2 || start[start.size() - 1] != row.size()) throw InputError("dim", "each column has rows");
    const LowerTriangle pattern{int(start.size()) - 1, start.begin(), row.begin()};
    pattern.check();
    auto held = std::make_unique<SparseCholesky>(pattern);
    const double entries = held->entries(), operations = held->operations();
    const double bytes = 20.0 * double(row.size()) + (std::isfinite(entries) ? 12.0 * entries : 0);
    const Rcpp::Shield<SEXP> pointer(external_pointer(std::move(held), bytes));
    Rcpp::NumericVector costs = new_numbers(2);
    costs[0] = entries, costs[1] = operations;
    return named_list({{"pointer", pointer}, {"costs", costs}});
  });
}

// Factorises the matrix and returns the logarithm of its determinant; NaN unless the matrix is positive definite.
// [[Rcpp::export(rng = false)]]
double sparse_cholesky_factor(SEXP held, Rcpp::NumericVector values, int threads) {
  return guard([&] {
    SparseCholesky& cholesky = cholesky_of(held);
    check_values(values, cholesky);
    return cholesky.factor(values.begin(), with_threads(threads)) ? cholesky.logdet() : R_NaN;
  });
}

// Solves with the factorisation P S P' = L L' for the columns of x: L^-1 P x (half = 1), P' L'^-1 x (half = 2), or S^-1
// x (half = 0).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sparse_cholesky_solve(SEXP held, Rcpp::NumericMatrix x, int half, int threads) {
  return guard_new([&] {
    const SparseCholesky& cholesky = factored(held);
    if (x.nrow() != cholesky.size()) throw InputError("dim", "each column of the matrix has a number");
    using Half = SparseCholesky::Half;
    Rcpp::NumericMatrix out = Rcpp::clone(x);
    cholesky.solve(out.begin(), x.ncol(),
                   half == 0   ? Half::both
                   : half == 1 ? Half::first
                               : Half::second,
                   with_threads(threads));
    return out;
  });
}

// The entries of the inverse at the positions of the entries of the matrix's lower triangle.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector sparse_cholesky_inverse(SEXP held, int threads) {
  return guard_new([&] {
    const SparseCholesky& cholesky = factored(held);
    Rcpp::NumericVector out = new_numbers(double(cholesky.pattern_entries()));
    cholesky.invert(out.begin(), with_threads(threads));
    return out;
  });
}

// The quadratic forms x' S^-1 x of sparse vectors x for the factorised matrix S. Each column of `values` has the
// entries of one x, and the same column of `rows` has their rows from 1, or 0 where there is no entry.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector sparse_cholesky_forms(SEXP held, Rcpp::IntegerMatrix rows, Rcpp::NumericMatrix values,
                                          int threads) {
  return guard_new([&] {
    const SparseCholesky& cholesky = factored(held);
    check_neighbours(rows, cholesky.size());
    if (values.nrow() != rows.nrow() || values.ncol() != rows.ncol()) throw InputError("dim", "each row has a value");
    Rcpp::NumericVector out = zeros(double(rows.ncol()));
    cholesky.sums({rows.begin(), rows.ncol(), rows.nrow()}, values.begin(), with_threads(threads), out.begin());
    return out;
  });
}
