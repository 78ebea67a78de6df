// Passes over the columns of matrices with many rows (R/columns.R), run by all threads without copying columns.
#include <R_ext/BLAS.h>
#include <Rmath.h>

#include <cmath>
#include <cstring>

#include "border.h"
#include "run/parallel_for.h"
#include "settings.h"

using namespace kernops;

namespace {

constexpr Count piece = 1 << 15;  // number of rows that a thread processes at a time

// Calls work(first, last, unit) for each piece of n rows; `unit` is the number of the piece.
template <class Work> void in_pieces(Count n, int threads, const Work& work) {
  in_parts(
      n, with_threads(threads), [&](Count first, Count last) { work(first, last, first / piece); }, piece);
}

// The columns of a matrix of doubles or integers; a vector counts as one column.
struct Columns {
  explicit Columns(SEXP x) : x(in_memory(x)), n(Rf_isMatrix(x) ? Rf_nrows(x) : Count(Rf_xlength(x))) {
    if (TYPEOF(x) != REALSXP && TYPEOF(x) != INTSXP) throw InputError("input", "columns are numbers");
    count = Rf_isMatrix(x) ? Rf_ncols(x) : 1;
  }
  const Rcpp::RObject x;
  const Count n;
  int count;
};

SEXP new_matrix(SEXPTYPE type, Count rows, int columns) {
  const double bytes = bytes_of(type, double(rows) * columns);
  const SEXP x = allocate(bytes, [&] { return Rf_allocMatrix(type, int(rows), columns); });
  in_huge_pages(type == REALSXP ? static_cast<void*>(REAL(x)) : INTEGER(x), size_t(bytes));
  return x;
}

template <class T> void gather(const T* from, Count n, const int* rows, Count count, int columns, int threads, T* to) {
  in_pieces(count, threads, [&](Count first, Count last, Count) {
    for (int k = 0; k < columns; ++k)
      for (Count i = first; i < last; ++i) to[k * count + i] = from[k * n + rows[i] - 1];
  });
}

// A hash table that finds, for each row, the first row with equal values. Rows are divided among `parts` by their
// hashes; one thread processes the rows of a part in ascending order.
class FirstRows {
 public:
  FirstRows(const double* values, Count n, int columns, int threads)
      : values_(values), n_(n), columns_(columns), hashes_(size_t(n)) {
    in_pieces(n, threads, [&](Count first, Count last, Count) {
      for (Count i = first; i < last; ++i) hashes_[size_t(i)] = hash(i);
    });
  }

  // Writes, for each row, the number of the first row with equal values, from 1.
  void write(int threads, int* to) const {
    const Count pieces = ceil_div(n_, piece);
    std::vector<int> ends(size_t(pieces * parts) + 1, 0), rows(static_cast<size_t>(n_));
    in_pieces(n_, threads, [&](Count first, Count last, Count unit) {
      for (Count i = first; i < last; ++i) ++ends[size_t(part(i) * pieces + unit) + 1];
    });
    for (size_t k = 1; k < ends.size(); ++k) ends[k] += ends[k - 1];
    std::vector<int> place(ends.begin(), ends.end() - 1);
    in_pieces(n_, threads, [&](Count first, Count last, Count unit) {
      for (Count i = first; i < last; ++i) rows[size_t(place[size_t(part(i) * pieces + unit)]++)] = int(i);
    });
    parallel_for(parts, std::min<Count>(threads, pieces), Settings{}, [&](Count p, Count) {
      number(rows.data() + ends[size_t(p * pieces)], rows.data() + ends[size_t((p + 1) * pieces)], to);
    });
  }

 private:
  static constexpr Count parts = 256;

  Count part(Count i) const { return Count(hashes_[size_t(i)] >> 56); }

  std::uint64_t hash(Count i) const {
    std::uint64_t h = 0x9e3779b97f4a7c15;
    for (int k = 0; k < columns_; ++k) {
      const double value = values_[k * n_ + i] + 0.0;  // 0 equals -0, and all NaN are equal
      std::uint64_t bits = 0;
      if (value == value) std::memcpy(&bits, &value, sizeof bits);
      h = (h ^ bits) * 0xff51afd7ed558ccd;
      h ^= h >> 32;
    }
    return h * 0xc4ceb9fe1a85ec53;
  }

  bool equal(Count i, Count j) const {
    for (int k = 0; k < columns_; ++k) {
      const double a = values_[k * n_ + i], b = values_[k * n_ + j];
      if (a != b && (a == a || b == b)) return false;
    }
    return true;
  }

  void number(const int* begin, const int* end, int* to) const {
    size_t size = 16;
    while (size < 2 * size_t(end - begin)) size *= 2;
    std::vector<int> table(size, -1);
    for (const int* row = begin; row < end; ++row) {
      size_t slot = size_t(hashes_[size_t(*row)]) & (size - 1);
      while (table[slot] >= 0 && !equal(table[slot], *row)) slot = (slot + 1) & (size - 1);
      if (table[slot] < 0) table[slot] = *row;
      to[*row] = table[slot] + 1;
    }
  }

  const double* const values_;
  const Count n_;
  const int columns_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

// Returns a matrix with the minimum and the maximum of each column of x, skipping NaN. A column without values has Inf
// and -Inf.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix columns_ranges(Rcpp::NumericVector x, int threads) {
  return guard_new([&] {
    const Columns columns(x);
    const Count units = std::max<Count>(1, ceil_div(columns.n, piece));
    std::vector<double> parts(size_t(2 * columns.count * units));
    in_pieces(columns.n, threads, [&](Count first, Count last, Count unit) {
      for (int k = 0; k < columns.count; ++k) {
        const double* const from = x.begin() + k * columns.n;
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (Count i = first; i < last; ++i)
          low = from[i] < low ? from[i] : low, high = from[i] > high ? from[i] : high;
        parts[size_t(2 * (unit * columns.count + k))] = low, parts[size_t(2 * (unit * columns.count + k) + 1)] = high;
      }
    });
    Rcpp::NumericMatrix ranges(new_matrix(REALSXP, 2, columns.count));
    for (int k = 0; k < columns.count; ++k) {
      ranges(0, k) = HUGE_VAL, ranges(1, k) = -HUGE_VAL;
      for (Count unit = 0; columns.n > 0 && unit < units; ++unit) {
        ranges(0, k) = std::min(ranges(0, k), parts[size_t(2 * (unit * columns.count + k))]);
        ranges(1, k) = std::max(ranges(1, k), parts[size_t(2 * (unit * columns.count + k) + 1)]);
      }
    }
    return ranges;
  });
}

// The numbers of the columns that contain NaN or an infinity.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector columns_not_finite(Rcpp::NumericMatrix x, int threads) {
  return guard_new([&] {
    const Count n = x.nrow(), columns = x.ncol(), part = std::max<Count>(1, piece / std::max<Count>(1, n));
    const double* const from = x.begin();
    std::vector<char> bad(size_t(columns), 0);
    in_parts(
        columns, with_threads(threads),
        [&](Count first, Count last) {
          for (Count k = first; k < last; ++k) {
            double zero = 0;
            for (Count i = k * n; i < (k + 1) * n; ++i) zero += from[i] - from[i];
            bad[size_t(k)] = zero != 0 || zero != zero;
          }
        },
        part);
    Rcpp::IntegerVector numbers = new_integers(double(std::count(bad.begin(), bad.end(), 1)));
    for (Count k = 0, to = 0; k < columns; ++k)
      if (bad[size_t(k)]) numbers[to++] = int(k + 1);
    return numbers;
  });
}

// For the columns of x with the numbers `chosen`, from 1: (x - shift) / divisor * factor. Each column has its own
// shift, divisor and factor.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix columns_moved(Rcpp::NumericMatrix x, Rcpp::IntegerVector chosen, Rcpp::NumericVector shift,
                                  Rcpp::NumericVector divisor, Rcpp::NumericVector factor, int threads) {
  return guard_new([&] {
    const Count n = x.nrow();
    const int count = int(chosen.size());
    if (shift.size() != count || divisor.size() != count || factor.size() != count)
      throw InputError("dim", "each column has its constants");
    for (const int k : chosen)
      if (k < 1 || k > x.ncol()) throw InputError("dim", "columns are chosen by their numbers");
    Rcpp::NumericMatrix to(new_matrix(REALSXP, n, count));
    in_pieces(n, threads, [&](Count first, Count last, Count) {
      for (int k = 0; k < count; ++k) {
        const double* const from = x.begin() + (chosen[k] - 1) * n;
        double* const out = to.begin() + k * n;
        const double less = shift[k], by = divisor[k], times = factor[k];
        for (Count i = first; i < last; ++i) out[i] = (from[i] - less) / by * times;
      }
    });
    return to;
  });
}

// Selects rows of x by their numbers. The result is a matrix, or a vector if x is a vector.
// [[Rcpp::export(rng = false)]]
SEXP columns_rows(SEXP x, Rcpp::IntegerVector rows, int threads) {
  return guard_new([&]() -> SEXP {
    const Columns columns(x);
    for (const int row : rows)
      if (row < 1 || row > columns.n) throw InputError("dim", "rows are chosen by their numbers");
    const SEXPTYPE type = SEXPTYPE(TYPEOF(columns.x));
    const Count count = rows.size();
    const Rcpp::Shield<SEXP> to(Rf_isMatrix(x) ? new_matrix(type, count, columns.count)
                                               : new_vector(type, double(count)));
    const auto copy = [&](auto* from, auto* out) {
      gather(from, columns.n, rows.begin(), count, columns.count, threads, out);
    };
    if (type == REALSXP)
      copy(REAL(columns.x), REAL(to));
    else
      copy(INTEGER(columns.x), INTEGER(to));
    return to;
  });
}

// The orthonormal columns of a decomposition by qr(), bit-identical to qr.Q(), because the Householder reflections are
// applied as in LINPACK's dqrsl.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix columns_orthonormal(Rcpp::NumericMatrix qr, Rcpp::NumericVector qraux, int threads) {
  return guard_new([&] {
    const int n = qr.nrow(), p = qr.ncol(), one = 1;
    if (qraux.size() != p || p > n) throw InputError("dim", "a decomposition has a column for each reflection");
    LargeVector<double> reflections(static_cast<size_t>(qr.size()));
    Rcpp::NumericMatrix to(new_matrix(REALSXP, n, p));
    const double* const from = qr.begin();
    double *const out = to.begin(), *const along = reflections.data();
    in_pieces(Count(n) * p, threads, [&](Count first, Count last, Count) {
      std::copy(from + first, from + last, along + first);
      std::fill(out + first, out + last, 0.0);
    });
    for (int k = 0; k < p; ++k) along[Count(k) * n + k] = qraux[k], out[Count(k) * n + k] = 1;
    parallel_for(p, std::min(threads, p), with_threads(threads), [&](Count column, Count) {
      for (int k = std::min(p, n - 1) - 1; k >= 0; --k) {
        const int rows = n - k;
        const double* const x = along + Count(k) * n + k;
        double* const y = out + column * n + k;
        if (*x == 0) continue;
        const double t = -F77_CALL(ddot)(&rows, x, &one, y, &one) / *x;
        F77_CALL(daxpy)(&rows, &t, x, &one, y, &one);
      }
    });
    return to;
  });
}

// For each row of x, the number of the first row with equal values. If `digits` is positive, values are equal if they
// agree when rounded to this number of significant digits.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector columns_first_rows(Rcpp::NumericMatrix x, double digits, int threads) {
  return guard_new([&] {
    const Count n = x.nrow();
    const double* values = x.begin();
    std::vector<double> rounded;
    if (digits > 0) {
      rounded.resize(size_t(x.size()));
      in_pieces(Count(x.size()), threads, [&](Count first, Count last, Count) {
        for (Count i = first; i < last; ++i) rounded[size_t(i)] = Rf_fprec(values[i], digits);
      });
      values = rounded.data();
    }
    Rcpp::IntegerVector to = new_integers(double(n));
    FirstRows(values, n, x.ncol(), threads).write(threads, to.begin());
    return to;
  });
}
