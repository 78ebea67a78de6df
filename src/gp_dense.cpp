// Dense linear algebra for R/gp_exact.R.
#include "border.h"
#include "dense/dense.h"

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

// The diagonal of the inverse of the matrix that a factor came from; the factor stays.
// [[Rcpp::export]]
Rcpp::NumericVector dense_inverse_diagonal(Rcpp::NumericMatrix factor, std::string isa, int threads) {
  return guard([&] {
    Rcpp::NumericVector diagonal = zeros(factor.nrow());
    dense::inverse_diagonal(context(isa, threads), matrix(factor), diagonal.begin());
    return diagonal;
  });
}

// [[Rcpp::export]]
Rcpp::NumericMatrix dense_solve(Rcpp::NumericMatrix factor, bool transposed, Rcpp::NumericMatrix b, std::string isa,
                                int threads) {
  return guard([&] {
    Rcpp::NumericMatrix x(allocate(8.0 * double(b.size()), [&] { return Rf_duplicate(b); }));
    dense::solve(context(isa, threads), matrix(factor), transposed, matrix(x));
    return x;
  });
}

// [[Rcpp::export]]
Rcpp::NumericVector dense_diagonal(Rcpp::NumericMatrix x) {
  return guard([&] {
    Rcpp::NumericVector diagonal = new_numbers(std::min(x.nrow(), x.ncol()));
    for (int i = 0; i < diagonal.size(); ++i) diagonal[i] = x(i, i);
    return diagonal;
  });
}

// [[Rcpp::export]]
void dense_add_diagonal(Rcpp::NumericMatrix x, Rcpp::NumericVector values) {
  for (int i = 0; i < values.size(); ++i) x(i, i) += values[i];
}

// a' b, or the product of b with as many of the first columns of a as b has rows.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix dense_product(Rcpp::NumericMatrix a, bool transposed, Rcpp::NumericMatrix b, std::string isa,
                                  int threads) {
  return guard([&] {
    const int rows = transposed ? a.ncol() : a.nrow(), terms = transposed ? a.nrow() : a.ncol();
    if (transposed ? b.nrow() != terms : b.nrow() > terms)
      throw InputError("dim", "the matrices of a product must fit");
    Rcpp::NumericMatrix c = zeros(rows, b.ncol());
    const dense::Matrix left = matrix(a).block(0, 0, a.nrow(), transposed ? a.ncol() : b.nrow());
    if (c.size() > 0) dense::product(context(isa, threads), left, transposed, matrix(b), matrix(c));
    return c;
  });
}

// L z, with the lower triangle of x as L.
// [[Rcpp::export]]
Rcpp::NumericMatrix dense_lower_product(Rcpp::NumericMatrix x, Rcpp::NumericMatrix z) {
  return guard([&] {
    const int n = x.nrow();
    Rcpp::NumericMatrix product = zeros(n, z.ncol());
    for (int c = 0; c < z.ncol(); ++c)
      for (int j = 0; j < n; ++j)
        for (int i = j; i < n; ++i) product(i, c) += x(i, j) * z(j, c);
    return product;
  });
}

// A b for a symmetric A whose lower triangle is that of x.
// [[Rcpp::export]]
Rcpp::NumericMatrix dense_symmetric_product(Rcpp::NumericMatrix x, Rcpp::NumericMatrix b) {
  return guard([&] {
    const int n = x.nrow();
    Rcpp::NumericMatrix product = zeros(n, b.ncol());
    for (int c = 0; c < b.ncol(); ++c) {
      const double* in = b.column(c).begin();
      double* out = product.column(c).begin();
      for (int j = 0; j < n; ++j) {
        const double* column = x.column(j).begin();
        double sum = column[j] * in[j];
        for (int i = j + 1; i < n; ++i) {
          out[i] += column[i] * in[j];
          sum += column[i] * in[i];
        }
        out[j] += sum;
      }
    }
    return product;
  });
}
