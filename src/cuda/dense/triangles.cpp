// Recursive operations with triangular matrices. A matrix (A 0; B C) is split into the triangles A and C, and the full
// matrix B, so that nearly all work consists of products of full matrices. For products of full matrices, cuBLAS
// reaches 50 to 60 Tflop/s on an H200. The triangular routines of cuBLAS reach 44 Tflop/s on the same GPU, and 14
// Tflop/s for products with few columns (n = 52,736, float64).
#include "cuda/dense/triangles.h"

#include <algorithm>

namespace kernops {
namespace cuda {
namespace {

constexpr Count leaf = 2048;            // maximum size for which the triangular routines of cuBLAS are fast
constexpr Count inverted_leaf = 512;    // maximum size for which trsm() computes an inverse from the unit matrix
constexpr Count factored_leaf = 16384;  // maximum size for which cuSOLVER is as fast as the recursion
constexpr Count squared_columns = 16384;

struct Halves {
  Panel a, b, c;
};

Halves halves(const Panel& t, Count multiple) {
  const Count first = (t.rows / 2 + multiple - 1) / multiple * multiple, second = t.rows - first;
  return {t.block(0, 0, first, first), t.block(first, 0, second, first), t.block(first, first, second, second)};
}

Panel upper_rows(const Panel& x, Count rows) { return x.block(0, 0, rows, x.columns); }
Panel lower_rows(const Panel& x, Count rows) { return x.block(x.rows - rows, 0, rows, x.columns); }
Panel left_columns(const Panel& x, Count columns) { return x.block(0, 0, x.rows, columns); }
Panel right_columns(const Panel& x, Count columns) { return x.block(0, x.columns - columns, x.rows, columns); }

// Computes out = scale T x or, if `transposed`, out = scale T' x.
void times(double scale, const Panel& t, bool transposed, const Panel& x, const Panel& out) {
  if (t.rows <= leaf) return trmm(scale, Side::left, t, false, transposed, x, out);
  const Halves of = halves(t, leaf);
  const Panel first = upper_rows(x, of.a.rows), second = lower_rows(x, of.c.rows);
  const Panel out_first = upper_rows(out, of.a.rows), out_second = lower_rows(out, of.c.rows);
  times(scale, of.a, transposed, first, out_first);
  times(scale, of.c, transposed, second, out_second);
  gemm(scale, of.b, transposed, transposed ? second : first, false, 1, transposed ? out_first : out_second);
}

// Computes out = x T.
void times_right(const Panel& x, const Panel& t, const Panel& out) {
  if (t.rows <= leaf) return trmm(1, Side::right, t, false, false, x, out);
  const Halves of = halves(t, leaf);
  const Panel second = right_columns(x, of.c.rows), out_first = left_columns(out, of.a.rows);
  times_right(left_columns(x, of.a.rows), of.a, out_first);
  times_right(second, of.c, right_columns(out, of.c.rows));
  gemm(1, second, false, of.b, false, 1, out_first);
}

// Replaces x by x L^-T.
void solve_transposed_right(const Panel& l, const Panel& x) {
  if (l.rows <= leaf) return trsm(Side::right, l, false, true, x);
  const Halves of = halves(l, leaf);
  const Panel first = left_columns(x, of.a.rows), second = right_columns(x, of.c.rows);
  solve_transposed_right(of.a, first);
  gemm(-1, first, false, of.b, true, 1, second);
  solve_transposed_right(of.c, second);
}

// Replaces the lower triangle t by t - x x'. With more than 16384 columns, the speed of syrk() drops from 49 to 5
// Tflop/s; therefore one call multiplies at most `squared_columns` columns.
void subtract_square(const Panel& x, const Panel& t) {
  if (t.rows <= leaf) {
    for (Count k = 0; k < x.columns; k += squared_columns)
      syrk(-1, x.block(0, k, x.rows, std::min(squared_columns, x.columns - k)), 1, t);
    return;
  }
  const Halves of = halves(t, leaf);
  const Panel first = upper_rows(x, of.a.rows), second = lower_rows(x, of.c.rows);
  subtract_square(first, of.a);
  gemm(-1, second, false, first, true, 1, of.b);
  subtract_square(second, of.c);
}

Count factor_parts(const Panel& t) {
  if (t.rows <= factored_leaf) return cholesky(t);
  const Halves of = halves(t, leaf);
  if (const Count bad = factor_parts(of.a)) return bad;
  solve_transposed_right(of.a, of.b);
  subtract_square(of.b, of.c);
  const Count bad = factor_parts(of.c);
  return bad ? of.a.rows + bad : 0;
}

// Replaces t by its inverse: (A 0; B C)^-1 = (A^-1 0; -C^-1 B A^-1 C^-1). `unit` is a unit matrix with `inverted_leaf`
// rows.
void invert_parts(const Panel& t, const Panel& unit, double* temporary) {
  if (t.rows <= inverted_leaf) {
    const Panel solved{temporary, t.rows, t.rows, t.rows};
    copy_panel(unit.block(0, 0, t.rows, t.rows), solved);
    trsm(Side::left, t, false, false, solved);
    return copy_panel(solved, t);
  }
  const Halves of = halves(t, inverted_leaf);
  invert_parts(of.a, unit, temporary);
  invert_parts(of.c, unit, temporary);
  const Panel product{temporary, of.b.rows, of.b.columns, of.b.rows};
  times_right(of.b, of.a, product);
  times(-1, of.c, false, product, of.b);
}

}  // namespace

Count factor(const Triangle& a) { return factor_parts(a.panel()); }

void invert(const Triangle& t) {
  const Count half = (t.n / 2 + inverted_leaf) / inverted_leaf * inverted_leaf;
  std::vector<double> diagonal(size_t(inverted_leaf * inverted_leaf), 0.0);
  for (Count n = 0; n < inverted_leaf; ++n) diagonal[size_t(n * (inverted_leaf + 1))] = 1;
  const Buffer unit(diagonal.size() * sizeof(double)), temporary(size_t(half * half) * sizeof(double));
  copy_in(unit.pointer(), diagonal.data(), diagonal.size() * sizeof(double));
  const Panel ones{static_cast<double*>(unit.address()), inverted_leaf, inverted_leaf, inverted_leaf};
  invert_parts(t.panel(), ones, static_cast<double*>(temporary.address()));
}

void solve(const Triangle& l, bool transposed, double* b, Count columns) {
  trsm(Side::left, l.panel(), l.upper, transposed, {b, l.n, columns, l.n});
}

void solve_right(const Triangle& l, double* b, Count rows) {
  trsm(Side::right, l.panel(), l.upper, true, {b, rows, l.n, rows});
}

void multiply(const Triangle& l, bool transposed, const Panel& x, const Panel& out) {
  if (l.upper) return trmm(1, Side::left, l.panel(), true, transposed, x, out);
  times(1, l.panel(), transposed, x, out);
}

void product(bool transposed, Count m, Count n, Count k, const double* a, const double* b, double scale, double* c) {
  const Count stride = transposed ? k : m;
  gemm(1, {const_cast<double*>(a), stride, transposed ? m : k, stride}, transposed, {const_cast<double*>(b), k, n, k},
       false, scale, {c, m, n, m});
}

}  // namespace cuda
}  // namespace kernops
