// Products of Vecchia's sparse factor U with random effects, for R/lik_vecchia_effects.R. Effects are a matrix C with a
// row for each point and few entries in each row: `columns`, from 1, and `values` have the entries of a point in a
// column. Row i of U C has its entries in the columns of the rows of C of point i and of its neighbours.
#include "settings.h"
#include "sparse_factor.h"

using namespace kernops;

namespace {

struct Effects {
  Effects(const Rcpp::IntegerMatrix& columns, const Rcpp::NumericMatrix& values, int size, Count points)
      : columns(columns.begin()), values(values.begin()), each(columns.nrow()), size(size) {
    if (columns.ncol() != points || values.ncol() != points || values.nrow() != columns.nrow())
      throw InputError("dim", "each point has columns and values");
    for (const int c : columns)
      if (c < 1 || c > size) throw InputError("dim", "a column is out of range");
  }
  // body(column, value) for the entries of a point, with columns from 0.
  template <class Body> void entries(Count point, const Body& body) const {
    for (Count e = point * each; e < (point + 1) * each; ++e) body(columns[e] - 1, values[e]);
  }

  const int* columns;
  const double* values;
  const Count each;
  const int size;
};

// A row of U C: the columns with entries, and the entries by column.
class WhiteRow {
 public:
  WhiteRow(const SparseFactor& u, const Effects& effects)
      : u_(u), effects_(effects), entries_(size_t(effects.size)), used_(size_t(effects.size)) {}

  void take(Count i) {
    for (const int c : columns_) entries_[size_t(c)] = 0, used_[size_t(c)] = 0;
    columns_.clear();
    add(i, 1 / u_.sd[i]);
    u_.each(i, [&](double weight, Count near, Count) { add(near, -weight / u_.sd[i]); });
  }
  const std::vector<int>& columns() const { return columns_; }
  double operator[](int c) const { return entries_[size_t(c)]; }

 private:
  void add(Count point, double factor) {
    effects_.entries(point, [&](int c, double value) {
      if (!used_[size_t(c)]) used_[size_t(c)] = 1, columns_.push_back(c);
      entries_[size_t(c)] += factor * value;
    });
  }

  const SparseFactor& u_;
  const Effects& effects_;
  std::vector<double> entries_;
  std::vector<char> used_;
  std::vector<int> columns_;
};

// body(row, i, part) for all points, in a number of parts that does not depend on the number of threads, so that sums
// do not depend on it either.
template <class Body>
void each_white_row(const SparseFactor& u, const Effects& effects, Count parts, int threads, const Body& body) {
  parallel_for(parts, std::min<Count>(threads, parts), with_threads(threads), [&](Count part, Count) {
    WhiteRow row(u, effects);
    for (Count i = u.sets * part / parts; i < u.sets * (part + 1) / parts; ++i) row.take(i), body(row, i, part);
  });
}

}  // namespace

// C' U' U C.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_gram(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, int size,
                                 int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u(weights, Rcpp::NumericVector(SEXP(rows["sd"])), Rcpp::IntegerMatrix(SEXP(rows["neighbours"])));
    const Effects effects(columns, values, size, u.sets);
    const size_t entries = size_t(size) * size_t(size);
    // each part has a matrix of sums, 128 MB in all
    const Count parts = std::max<Count>(1, std::min<Count>(16, Count(1 << 24) / Count(entries)));
    std::vector<double> sums(entries * size_t(parts));
    each_white_row(u, effects, parts, threads, [&](const WhiteRow& row, Count, Count part) {
      double* to = sums.data() + size_t(part) * entries;
      for (const int b : row.columns()) {
        const double factor = row[b];
        for (const int a : row.columns()) to[size_t(b) * size_t(size) + size_t(a)] += factor * row[a];
      }
    });
    Rcpp::NumericMatrix gram = zeros(size, size);
    for (size_t k = 0; k < sums.size(); ++k) gram[k % entries] += sums[k];
    return gram;
  });
}

// The derivatives of a function of the products C' U' U C, whose derivatives are the symmetric matrix `by_gram`, with
// respect to the weights and to the logarithms of the standard deviations of the rows of U.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_adjoint(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values,
                           Rcpp::NumericMatrix by_gram, int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u(weights, Rcpp::NumericVector(SEXP(rows["sd"])), Rcpp::IntegerMatrix(SEXP(rows["neighbours"])));
    const Effects effects(columns, values, std::min(by_gram.nrow(), by_gram.ncol()), u.sets);
    const double* slopes = by_gram.begin();
    const size_t size = size_t(effects.size);
    Rcpp::NumericMatrix by_weights = zeros(int(u.m), int(u.sets));
    Rcpp::NumericVector by_log_sd = zeros(double(u.sets));
    double *to = by_weights.begin(), *log_sd = by_log_sd.begin();
    constexpr Count parts = 16;
    std::vector<double> sums(size * size_t(parts));  // 2 by_gram z, where row z has entries
    each_white_row(u, effects, parts, threads, [&](const WhiteRow& row, Count i, Count part) {
      double *by_row = sums.data() + size_t(part) * size, along = 0;
      for (const int b : row.columns()) {
        double sum = 0;
        for (const int a : row.columns()) sum += slopes[size_t(b) * size + size_t(a)] * row[a];
        by_row[b] = 2 * sum, along += 2 * sum * row[b];
      }
      log_sd[i] = -along;
      u.each(i, [&](double, Count near, Count k) {
        double sum = 0;
        effects.entries(near, [&](int c, double value) { sum += by_row[c] * value; });
        to[i * u.m + k] = -sum / u.sd[i];
      });
    });
    return named_list({{"weights", by_weights}, {"log_sd", by_log_sd}});
  });
}

// C x for columns of x.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_times(Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, Rcpp::NumericMatrix x) {
  return guard_new([&] {
    const Effects effects(columns, values, x.nrow(), columns.ncol());
    const Count n = columns.ncol();
    Rcpp::NumericMatrix out = zeros(int(n), x.ncol());
    for (Count k = 0; k < x.ncol(); ++k)
      for (Count i = 0; i < n; ++i)
        effects.entries(i, [&](int c, double value) { out[k * n + i] += value * x[k * x.nrow() + c]; });
    return out;
  });
}

// C' x for columns of x, where C has `size` columns.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_crossprod(Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, Rcpp::NumericMatrix x,
                                      int size) {
  return guard_new([&] {
    const Effects effects(columns, values, size, x.nrow());
    Rcpp::NumericMatrix out = zeros(size, x.ncol());
    for (Count k = 0; k < x.ncol(); ++k)
      for (Count i = 0; i < x.nrow(); ++i)
        effects.entries(i, [&](int c, double value) { out[k * size + c] += value * x[k * x.nrow() + i]; });
    return out;
  });
}

// The weighted sums of rows of C over the neighbours of each set, a row for each set.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_means(Rcpp::NumericMatrix weights, Rcpp::IntegerMatrix neighbours,
                                  Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, int size) {
  return guard_new([&] {
    const Effects effects(columns, values, size, columns.ncol());
    const SparseFactor u(weights, neighbours, columns.ncol());
    Rcpp::NumericMatrix out = zeros(int(u.sets), size);
    double* to = out.begin();
    for (Count i = 0; i < u.sets; ++i)
      u.each(i, [&](double weight, Count near, Count) {
        effects.entries(near, [&](int c, double value) { to[c * u.sets + i] += weight * value; });
      });
    return out;
  });
}
