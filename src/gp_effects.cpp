// Products of Vecchia's sparse factor U with random effects, for R/lik_vecchia_effects.R. Effects are given by a sparse
// matrix C with one row per point and few entries per row. The entries of a point are stored in one column of two
// matrices: `columns` has the column numbers in C, from 1, and `values` has the values. Row i of U C is a weighted sum
// of the rows of C that belong to point i and to its neighbours.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>

#include "neighbours/cholesky.h"
#include "settings.h"
#include "sparse_factor.h"

using namespace kernops;

namespace {

// Creates U from a list of weights, standard deviations and neighbours.
SparseFactor factor_of(const Rcpp::List& rows, const Rcpp::NumericMatrix& weights) {
  return {weights, Rcpp::NumericVector(SEXP(rows["sd"])), Rcpp::IntegerMatrix(SEXP(rows["neighbours"]))};
}

struct Effects {
  Effects(const Rcpp::IntegerMatrix& columns, const Rcpp::NumericMatrix& values, int size, Count points)
      : columns(columns.begin()), values(values.begin()), each(columns.nrow()), size(size) {
    if (columns.ncol() != points || values.ncol() != points || values.nrow() != columns.nrow())
      throw InputError("dim", "each point has columns and values");
    for (const int c : columns)
      if (c < 1 || c > size) throw InputError("dim", "a column is out of range");
  }
  // Calls body(column, value) for each entry of a point; columns are counted from 0.
  template <class Body> void entries(Count point, const Body& body) const {
    for (Count e = point * each; e < (point + 1) * each; ++e) body(columns[e] - 1, values[e]);
  }

  const int* columns;
  const double* values;
  const Count each;
  const int size;
};

std::vector<double> by_rows(const Rcpp::NumericMatrix& x) {
  const Count n = x.nrow(), p = x.ncol();
  std::vector<double> rows(static_cast<size_t>(n * p));
  for (Count k = 0; k < p; ++k)
    for (Count i = 0; i < n; ++i) rows[size_t(i * p + k)] = x[k * n + i];
  return rows;
}

// A row of U C: the columns that have entries, and an array of entries indexed by column.
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

// Calls body(row, i, part) for each row i of U C. The points are divided into a number of parts that does not depend on
// the number of threads, so that sums over points do not depend on the number of threads either.
template <class Body>
void each_white_row(const SparseFactor& u, const Effects& effects, Count parts, int threads, const Body& body) {
  parallel_for(parts, std::min<Count>(threads, parts), with_threads(threads), [&](Count part, Count) {
    WhiteRow row(u, effects);
    for (Count i = u.sets * part / parts; i < u.sets * (part + 1) / parts; ++i) row.take(i), body(row, i, part);
  });
}

// The sparse matrix U C, stored by rows and by columns.
struct WhiteMatrix {
  WhiteMatrix(const SparseFactor& u, const Effects& effects, int threads)
      : start(size_t(u.sets) + 1), by_column(size_t(effects.size) + 1) {
    constexpr Count parts = 16;
    std::vector<std::vector<int>> columns(parts);
    std::vector<std::vector<double>> values(parts);
    each_white_row(u, effects, parts, threads, [&](const WhiteRow& row, Count i, Count part) {
      start[size_t(i) + 1] = Count(row.columns().size());
      for (const int c : row.columns()) columns[size_t(part)].push_back(c), values[size_t(part)].push_back(row[c]);
    });
    std::partial_sum(start.begin(), start.end(), start.begin());
    column.reserve(size_t(start.back())), value.reserve(size_t(start.back()));
    for (size_t part = 0; part < columns.size(); ++part) {
      column.insert(column.end(), columns[part].begin(), columns[part].end());
      value.insert(value.end(), values[part].begin(), values[part].end());
      columns[part] = {}, values[part] = {};
    }
    for (const int c : column) ++by_column[size_t(c) + 1];
    std::partial_sum(by_column.begin(), by_column.end(), by_column.begin());
    std::vector<Count> next(by_column.begin(), by_column.end() - 1);
    of_row.resize(column.size()), entry.resize(column.size());
    for (Count i = 0; i < u.sets; ++i)
      for (Count k = start[size_t(i)]; k < start[size_t(i) + 1]; ++k) {
        const size_t to = size_t(next[size_t(column[size_t(k)])]++);
        of_row[to] = int(i), entry[to] = k;
      }
  }

  std::vector<Count> start, by_column, entry;
  std::vector<int> column, of_row;
  std::vector<double> value;
};

// A column of (U C)' U C from row `first` on, while entries are being added.
struct OpenColumn {
  explicit OpenColumn(int size) : sum(size_t(size)), used(size_t(size)) {}
  void add(const WhiteMatrix& white, int c, int first) {
    use(c);
    for (Count e = white.by_column[size_t(c)]; e < white.by_column[size_t(c) + 1]; ++e) {
      const size_t i = size_t(white.of_row[size_t(e)]);
      const double factor = white.value[size_t(white.entry[size_t(e)])];
      for (Count k = white.start[i]; k < white.start[i + 1]; ++k) {
        const int row = white.column[size_t(k)];
        if (row >= first) use(row), sum[size_t(row)] += factor * white.value[size_t(k)];
      }
    }
    std::sort(rows.begin(), rows.end());
  }
  void clear() {
    for (const int row : rows) sum[size_t(row)] = 0, used[size_t(row)] = 0;
    rows.clear();
  }
  void use(int row) {
    if (!used[size_t(row)]) used[size_t(row)] = 1, rows.push_back(row);
  }
  std::vector<double> sum;
  std::vector<char> used;
  std::vector<int> rows;
};

constexpr Count columns_of_block = 32;

enum class Triangle { lower, both };

// Calls body(column, rows, sums, block) for each column of the symmetric matrix (U C)' U C, or of its lower triangle.
// `rows` has the ascending numbers of the rows in which the column has entries, and sums[row] is the entry in a row.
// The columns of a block are processed in order. As soon as `stopped` is true, the remaining columns are omitted.
template <class Body>
void each_gram_column(const WhiteMatrix& white, int size, int threads, Triangle part, const std::atomic<bool>& stopped,
                      const Body& body) {
  const Count blocks = ceil_div(Count(size), columns_of_block);
  const Count workers = std::max<Count>(1, std::min<Count>(threads, blocks));
  std::vector<OpenColumn> open(static_cast<size_t>(workers), OpenColumn{size});
  parallel_for(blocks, workers, with_threads(threads), [&](Count block, Count worker) {
    OpenColumn& column = open[size_t(worker)];
    for (Count c = block * columns_of_block; c < std::min(Count(size), (block + 1) * columns_of_block); ++c) {
      if (stopped) return;
      column.add(white, int(c), part == Triangle::lower ? int(c) : 0);
      body(int(c), column.rows, column.sum, block);
      column.clear();
    }
  });
}

// The lower triangle of (U C)' U C in compressed sparse columns. The computation stops if there are more than `most`
// entries.
struct SparseGram {
  SparseGram(const WhiteMatrix& white, int size, Count most, int threads)
      : rows(size_t(ceil_div(Count(size), columns_of_block))), values(rows.size()), start(size_t(size) + 1) {
    std::atomic<Count> total{0};
    const auto keep = [&](int c, const std::vector<int>& filled, const std::vector<double>& sum, Count block) {
      start[size_t(c) + 1] = int(filled.size()), total += Count(filled.size());
      for (const int row : filled)
        rows[size_t(block)].push_back(row), values[size_t(block)].push_back(sum[size_t(row)]);
      if (total > most) stopped = true;
    };
    each_gram_column(white, size, threads, Triangle::lower, stopped, keep);
    std::partial_sum(start.begin(), start.end(), start.begin());
  }

  std::vector<std::vector<int>> rows;
  std::vector<std::vector<double>> values;
  std::vector<int> start;
  std::atomic<bool> stopped{false};
};

}  // namespace

// C' U' U C for the sparse factor U and the matrix C of the effects.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_gram(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, int size,
                                 int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    const Effects effects(columns, values, size, u.sets);
    const size_t entries = size_t(size) * size_t(size);
    // each part has its own matrix of sums; together, these matrices take at most 128 MB
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

// The lower triangle of C' U' U C in compressed sparse columns: `start` and `row`, both from 0, and `value`. The result
// is empty if there are more than `most` entries.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_sparse_gram(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, int size,
                               double most, int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    const Effects effects(columns, values, size, u.sets);
    SparseGram gram(WhiteMatrix(u, effects, threads), size, Count(std::min(most, 2e9)), threads);
    if (gram.stopped) return Rcpp::List();
    const double total = gram.start.back();
    Rcpp::IntegerVector start = new_integers(double(gram.start.size())), row = new_integers(total);
    Rcpp::NumericVector value = new_numbers(total);
    std::copy(gram.start.begin(), gram.start.end(), start.begin());
    int* to_row = row.begin();
    double* to_value = value.begin();
    for (size_t block = 0; block < gram.rows.size(); ++block) {
      to_row = std::copy(gram.rows[block].begin(), gram.rows[block].end(), to_row);
      to_value = std::copy(gram.values[block].begin(), gram.values[block].end(), to_value);
    }
    return named_list({{"start", start}, {"row", row}, {"value", value}});
  });
}

// Creates the matrix U C, for products with I + C' U' U C = D + F, where D is the diagonal and F has the other entries.
// Returns the `diagonal` of D, and the `square` of the Frobenius norm of D^-1/2 F D^-1/2.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_hold(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, int size,
                        int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    auto held = std::make_unique<WhiteMatrix>(u, Effects(columns, values, size, u.sets), threads);
    const WhiteMatrix& white = *held;
    Rcpp::NumericVector diagonal = new_numbers(size);
    double* const d = diagonal.begin();
    std::fill_n(d, size, 1.0);
    for (size_t k = 0; k < white.column.size(); ++k) d[white.column[k]] += white.value[k] * white.value[k];
    std::vector<double> squares(static_cast<size_t>(size));
    const auto add = [&](int c, const std::vector<int>& filled, const std::vector<double>& sum, Count) {
      for (const int row : filled)
        if (row > c) squares[size_t(c)] += 2 * sum[size_t(row)] * sum[size_t(row)] / (d[c] * d[row]);
    };
    each_gram_column(white, size, threads, Triangle::lower, std::atomic<bool>(false), add);
    Rcpp::NumericVector square = new_numbers(1);
    square[0] = std::accumulate(squares.begin(), squares.end(), 0.0);
    const double bytes = 24.0 * double(white.column.size());
    const Rcpp::Shield<SEXP> pointer(external_pointer(std::move(held), bytes));
    return named_list({{"pointer", pointer}, {"diagonal", diagonal}, {"square", square}});
  });
}

// (I + C' U' U C) x for the matrix U C that effects_hold() created.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_product(SEXP held, Rcpp::NumericMatrix x, int threads) {
  return guard_new([&] {
    const WhiteMatrix& white = *Rcpp::XPtr<WhiteMatrix>(held);
    const Count size = Count(white.by_column.size()) - 1, n = Count(white.start.size()) - 1, width = x.ncol();
    if (x.nrow() != size) throw InputError("dim", "each column of the matrix has a number");
    Rcpp::NumericMatrix out = zeros(int(size), int(width));
    // x and the product are stored by rows, so that the numbers of a row are contiguous
    std::vector<double> from(size_t(size * width)), rows(size_t(n * width));
    const double* const given = x.begin();
    double* const to = out.begin();
    each_point(size, threads, [&](Count c) {
      for (Count k = 0; k < width; ++k) from[size_t(c * width + k)] = given[k * size + c];
    });
    each_point(n, threads, [&](Count i) {
      for (Count e = white.start[size_t(i)]; e < white.start[size_t(i) + 1]; ++e)
        add_scaled(white.value[size_t(e)], from.data() + white.column[size_t(e)] * width, width,
                   rows.data() + i * width);
    });
    each_point(size, threads, [&](Count c) {
      double* const sum = from.data() + c * width;
      for (Count t = white.by_column[size_t(c)]; t < white.by_column[size_t(c) + 1]; ++t)
        add_scaled(white.value[size_t(white.entry[size_t(t)])], rows.data() + white.of_row[size_t(t)] * width, width,
                   sum);
      for (Count k = 0; k < width; ++k) to[k * size + c] = sum[k];
    });
    return out;
  });
}

namespace {

// Computes the results of effects_adjoint(). by_entries(row, i, to) must write the derivatives with respect to the
// entries of row i of U C to `to`, indexed by column.
template <class ByEntries>
Rcpp::List adjoint_of_rows(const SparseFactor& u, const Effects& effects, int threads, const ByEntries& by_entries) {
  Rcpp::NumericMatrix by_weights = zeros(int(u.m), int(u.sets));
  Rcpp::NumericVector by_log_sd = zeros(double(u.sets));
  double *to = by_weights.begin(), *log_sd = by_log_sd.begin();
  constexpr Count parts = 16;
  const size_t size = size_t(effects.size);
  std::vector<double> sums(size * size_t(parts));
  each_white_row(u, effects, parts, threads, [&](const WhiteRow& row, Count i, Count part) {
    double *by_row = sums.data() + size_t(part) * size, along = 0;
    by_entries(row, i, by_row);
    for (const int b : row.columns()) along += by_row[b] * row[b];
    log_sd[i] = -along;
    u.each(i, [&](double, Count near, Count k) {
      double sum = 0;
      effects.entries(near, [&](int c, double value) { sum += by_row[c] * value; });
      to[i * u.m + k] = -sum / u.sd[i];
    });
  });
  return named_list({{"weights", by_weights}, {"log_sd", by_log_sd}});
}

// Computes the results of effects_adjoint() if slope(a, b) is the derivative with respect to entry (a, b) of C' U' U C.
template <class Slope>
Rcpp::List adjoint_of(const SparseFactor& u, const Effects& effects, int threads, const Slope& slope) {
  return adjoint_of_rows(u, effects, threads, [&](const WhiteRow& row, Count, double* to) {
    for (const int b : row.columns()) {
      double sum = 0;
      for (const int a : row.columns()) sum += slope(a, b) * row[a];
      to[b] = 2 * sum;
    }
  });
}

// The sum of x(k) * y(l) over the rows of U C that have an entry k in column a and an entry l in column b.
template <class X, class Y> double column_product(const WhiteMatrix& white, int a, int b, const X& x, const Y& y) {
  double sum = 0;
  Count s = white.by_column[size_t(a)], t = white.by_column[size_t(b)];
  while (s < white.by_column[size_t(a) + 1] && t < white.by_column[size_t(b) + 1]) {
    const int row = white.of_row[size_t(s)], other = white.of_row[size_t(t)];
    if (row == other) sum += x(white.entry[size_t(s)]) * y(white.entry[size_t(t)]);
    s += row <= other, t += other <= row;
  }
  return sum;
}

// Computes the sums of squares of effects_square_adjoint(), and returns the derivatives with respect to the entries of
// U C for a diagonal d of D.
std::vector<double> slopes_of_squares(const WhiteMatrix& white, int size, const double* d, int threads,
                                      double* squares) {
  std::vector<double> by_entry(white.value.size());
  const auto differentiate = [&](int c, const std::vector<int>& filled, const std::vector<double>& sum, Count) {
    const auto entry = [&](int row) { return row == c ? 0 : sum[size_t(row)] / (d[c] * d[row]); };
    for (const int row : filled) squares[c] += entry(row) * sum[size_t(row)];
    for (Count t = white.by_column[size_t(c)]; t < white.by_column[size_t(c) + 1]; ++t) {
      const size_t i = size_t(white.of_row[size_t(t)]);
      double& total = by_entry[size_t(white.entry[size_t(t)])];
      for (Count k = white.start[i]; k < white.start[i + 1]; ++k)
        total += 2 * entry(white.column[size_t(k)]) * white.value[size_t(k)];
    }
  };
  each_gram_column(white, size, threads, Triangle::both, std::atomic<bool>(false), differentiate);
  return by_entry;
}

}  // namespace

// The gradient of a function of the matrix C' U' U C with respect to the weights and to the logarithms of the standard
// deviations of U. `by_gram` is the symmetric matrix of derivatives with respect to the entries of C' U' U C.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_adjoint(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values,
                           Rcpp::NumericMatrix by_gram, int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    const Effects effects(columns, values, std::min(by_gram.nrow(), by_gram.ncol()), u.sets);
    const double* slopes = by_gram.begin();
    const size_t size = size_t(effects.size);
    return adjoint_of(u, effects, threads, [&](int a, int b) { return slopes[size_t(b) * size + size_t(a)]; });
  });
}

// Like effects_adjoint() for sparse derivatives with respect to C' U' U C: `by` has the entries of the lower triangle
// of these derivatives.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_sparse_adjoint(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values,
                                  Rcpp::IntegerVector start, Rcpp::IntegerVector row, Rcpp::NumericVector by,
                                  int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    const int size = int(start.size()) - 1;
    const Effects effects(columns, values, size, u.sets);
    const neighbours::LowerTriangle lower{size, start.begin(), row.begin()};
    if (size < 1 || start[size] != row.size() || by.size() != row.size()) throw InputError("dim", "columns have rows");
    lower.check();
    const double* slopes = by.begin();
    return adjoint_of(u, effects, threads, [&](int a, int b) {
      const Count place = lower.place(a, b);
      return place < start[std::min(a, b) + 1] && row[place] == std::max(a, b) ? slopes[place] : 0;
    });
  });
}

// Let G = C' U' U C, let F be G without its diagonal, let D be a given diagonal matrix, and let X = D^-1/2 F D^-1/2.
// The function returns the derivatives of half the sum of the squared entries of X with respect to the weights and to
// the logarithms of the standard deviations of U. D is treated as a constant. The function also returns `squares`, the
// sum of squares of each column of X, and two numbers for each of the given pairs of columns: `gram`, the entry of G,
// and `image`, the entry of D^-1 F D^-1 G. The columns of a pair must have entries in a common row.
// [[Rcpp::export(rng = false)]]
Rcpp::List effects_square_adjoint(Rcpp::List rows, Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values,
                                  Rcpp::NumericVector diagonal, Rcpp::IntegerMatrix pairs, int threads) {
  return guard_new([&] {
    const Rcpp::NumericMatrix weights = rows["weights"];
    const SparseFactor u = factor_of(rows, weights);
    const int size = int(diagonal.size());
    const Effects effects(columns, values, size, u.sets);
    const bool in_range = std::all_of(pairs.begin(), pairs.end(), [&](int c) { return c >= 1 && c <= size; });
    if (pairs.nrow() != 2 || !in_range) throw InputError("dim", "a column is out of range");
    const WhiteMatrix white(u, effects, threads);
    Rcpp::NumericVector squares = zeros(double(size));
    const std::vector<double> by_entry = slopes_of_squares(white, size, diagonal.begin(), threads, squares.begin());
    Rcpp::NumericVector gram = zeros(double(pairs.ncol())), image = zeros(double(pairs.ncol()));
    double *to_gram = gram.begin(), *to_image = image.begin();
    const int* const pair = pairs.begin();
    const auto value = [&](Count k) { return white.value[size_t(k)]; };
    each_point(pairs.ncol(), threads, [&](Count k) {
      const int a = pair[2 * k] - 1, b = pair[2 * k + 1] - 1;
      to_gram[k] = column_product(white, a, b, value, value);
      to_image[k] = column_product(
          white, a, b, [&](Count e) { return by_entry[size_t(e)] / 2; }, value);
    });
    const Rcpp::List by_rows = adjoint_of_rows(u, effects, threads, [&](const WhiteRow& row, Count i, double* to) {
      const double* from = by_entry.data() + white.start[size_t(i)];
      for (const int b : row.columns()) to[b] = *from++;
    });
    return named_list({{"weights", SEXP(by_rows["weights"])},
                       {"log_sd", SEXP(by_rows["log_sd"])},
                       {"squares", squares},
                       {"gram", gram},
                       {"image", image}});
  });
}

// C x for a matrix x.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_times(Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, Rcpp::NumericMatrix x) {
  return guard_new([&] {
    const Effects effects(columns, values, x.nrow(), columns.ncol());
    const Count n = columns.ncol(), p = x.ncol();
    const std::vector<double> rows = by_rows(x);
    std::vector<double> sum(static_cast<size_t>(p));
    Rcpp::NumericMatrix out = zeros(int(n), int(p));
    for (Count i = 0; i < n; ++i) {
      std::fill(sum.begin(), sum.end(), 0.0);
      effects.entries(i, [&](int c, double value) { add_scaled(value, rows.data() + c * p, p, sum.data()); });
      for (Count k = 0; k < p; ++k) out[k * n + i] = sum[size_t(k)];
    }
    return out;
  });
}

// C' x for a matrix x, where C has `size` columns.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix effects_crossprod(Rcpp::IntegerMatrix columns, Rcpp::NumericMatrix values, Rcpp::NumericMatrix x,
                                      int size) {
  return guard_new([&] {
    const Effects effects(columns, values, size, x.nrow());
    const Count n = x.nrow(), p = x.ncol();
    std::vector<double> row(static_cast<size_t>(p)), sums(static_cast<size_t>(size * p), 0.0);
    for (Count i = 0; i < n; ++i) {
      for (Count k = 0; k < p; ++k) row[size_t(k)] = x[k * n + i];
      effects.entries(i, [&](int c, double value) { add_scaled(value, row.data(), p, sums.data() + c * p); });
    }
    Rcpp::NumericMatrix out = zeros(size, int(p));
    for (Count k = 0; k < p; ++k)
      for (Count c = 0; c < size; ++c) out[k * size + c] = sums[size_t(c * p + k)];
    return out;
  });
}

// For each set, the weighted sum of the rows of C that belong to its neighbours, as one row of the result.
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
