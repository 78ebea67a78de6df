// Dense linear algebra for R/gp_exact.R.
#include "border.h"
#include "dense.h"

#include <algorithm>

using namespace kernops;

namespace {

dense::Matrix matrix(Rcpp::NumericMatrix& x) { return {x.begin(), x.nrow(), x.ncol(), x.nrow()}; }

dense::Context context(const std::string& isa, int threads) {
  const std::vector<std::string> all = cpu::instruction_sets();
  const bool wide = isa != "baseline" && std::find(all.begin(), all.end(), "avx2") != all.end();
#ifdef __x86_64__
  const dense::Tiles& tiles = wide ? dense::tiles_avx2 : dense::tiles_baseline;
#else
  const dense::Tiles& tiles = dense::tiles_baseline;
#endif
  (void)wide;
  return {tiles, threads, [] { Rcpp::checkUserInterrupt(); }};
}

}  // namespace

// The lower triangle of x becomes its Cholesky factor: x itself is overwritten. 0, or the row of the first
// pivot that is not positive.
// [[Rcpp::export]]
double dense_factor(Rcpp::NumericMatrix x, std::string isa, int threads) {
  return guard([&] { return double(dense::cholesky(context(isa, threads), matrix(x)) + 1); });
}

// A factor becomes the inverse of the matrix that it came from, in the lower triangle.
// [[Rcpp::export]]
Rcpp::NumericMatrix dense_inverse(Rcpp::NumericMatrix factor, std::string isa, int threads) {
  return guard([&] {
    dense::inverse(context(isa, threads), matrix(factor));
    return factor;
  });
}

// [[Rcpp::export]]
Rcpp::NumericMatrix dense_solve(Rcpp::NumericMatrix factor, bool transposed, Rcpp::NumericMatrix b,
                                std::string isa, int threads) {
  return guard([&] {
    Rcpp::NumericMatrix x = Rcpp::clone(b);
    dense::solve(context(isa, threads), matrix(factor), transposed, matrix(x));
    return x;
  });
}
