// Applies the sparse inverse of R/solve_preconditioner_sparse.R to blocks of vectors.
#include "block.h"
#include "neighbours/sparse_inverse.h"
#include "whole_numbers.h"

using namespace kernops;

// The sparse factor U by columns: the first entry of each of the n columns, the end of the last column, and the
// position of each entry in `near`.
// [[Rcpp::export(rng = false)]]
Rcpp::List sparse_columns(Rcpp::IntegerMatrix near) {
  return guard([&] {
    const Count n = near.ncol(), count = near.size();
    if (count > INT_MAX) throw InputError("input", "there are too many points and neighbours for a preconditioner");
    check_neighbours(near, n);
    Rcpp::NumericVector start = new_numbers(double(n + 1));
    Rcpp::IntegerVector entry = new_integers(double(count));
    std::fill(entry.begin(), entry.end(), 0);  // the first points have fewer neighbours, so some positions stay 0
    neighbours::find_columns(near.begin(), n, near.nrow(), start.begin(), entry.begin());
    return named_list({{"start", start}, {"entry", entry}});
  });
}

namespace {

// The arrays of a sparse inverse that R keeps between applications, with the cached copies on a GPU.
struct HeldInverse {
  Rcpp::NumericMatrix weights;
  Rcpp::NumericVector sd;
  Rcpp::IntegerMatrix near;
  Rcpp::IntegerVector order;
  Rcpp::NumericVector start;
  Rcpp::IntegerVector entry;
  std::shared_ptr<BackendCache> kept;
};

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP sparse_hold(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix near,
                 Rcpp::IntegerVector order, Rcpp::NumericVector start, Rcpp::IntegerVector entry) {
  return guard([&]() -> SEXP {
    const Count n = near.ncol();
    if (weights.size() != near.size() || sd.size() != n || order.size() != n || start.size() != n + 1 ||
        entry.size() != weights.size())
      throw InputError("dim", "the arrays of the preconditioner do not fit");
    return Rcpp::XPtr<HeldInverse>(new HeldInverse{weights, sd, near, order, start, entry, nullptr});
  });
}

// U' U x for a block x, stored where x is stored.
// [[Rcpp::export(rng = false)]]
SEXP sparse_apply(SEXP held, SEXP x, int threads) {
  return guard([&]() -> SEXP {
    HeldInverse& of = *Rcpp::XPtr<HeldInverse>(held);
    const Block from = block_of(x);
    if (of.near.ncol() != from.rows) throw InputError("dim", "the preconditioner is for another number of points");
    const neighbours::SparseInverse inverse{from.rows,       of.near.nrow(),   of.weights.begin(), of.sd.begin(),
                                            of.near.begin(), of.order.begin(), of.start.begin(),   of.entry.begin()};
    const Rcpp::Shield<SEXP> result(new_block(from.rows, from.columns, device_of(from)));
    dense_of(from).sparse_inverse(inverse, from, block_of(result), of.kept, with_threads(threads));
    return result;
  });
}
