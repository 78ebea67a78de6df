// The sparse inverse of R/preconditioner_sparse.R, applied to blocks of vectors.
#include "border.h"
#include "neighbours/sparse_inverse.h"
#include "watch.h"

using namespace kernops;

// Where the columns of U are in `neighbours`: n + 1 starts, and the entries.
// [[Rcpp::export(rng = false)]]
Rcpp::List sparse_columns(Rcpp::IntegerMatrix near) {
  return guard([&] {
    const Count n = near.ncol(), count = near.size();
    if (count > INT_MAX) throw InputError("input", "there are too many points and neighbours for a preconditioner");
    for (const int at : near)
      if (at < 0 || at > n) throw InputError("input", "neighbours are numbers of points");
    Rcpp::NumericVector start = new_numbers(double(n + 1));
    Rcpp::IntegerVector entry = new_integers(double(count));
    neighbours::find_columns(near.begin(), n, near.nrow(), start.begin(), entry.begin());
    return named_list({{"start", start}, {"entry", entry}});
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix sparse_apply(Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, Rcpp::IntegerMatrix near,
                                 Rcpp::IntegerVector order, Rcpp::NumericVector start, Rcpp::IntegerVector entry,
                                 Rcpp::NumericMatrix x, int threads) {
  return guard([&] {
    const Count n = x.nrow();
    if (near.ncol() != n || weights.size() != near.size() || sd.size() != n || order.size() != n ||
        start.size() != n + 1 || entry.size() != weights.size())
      throw InputError("dim", "the preconditioner is for another number of points");
    const neighbours::SparseInverse inverse{
        n, near.nrow(), weights.begin(), sd.begin(), near.begin(), order.begin(), start.begin(), entry.begin()};
    Rcpp::NumericMatrix result = zeros(x.nrow(), x.ncol());
    Settings settings;
    settings.threads = threads, settings.keep_going = watch(R_NilValue);
    inverse.apply(x.begin(), x.ncol(), result.begin(), settings);
    return result;
  });
}
