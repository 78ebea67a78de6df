// Blocked Cholesky factorisation, triangular solves and inverse. A matrix is divided into tiles, and the threads share
// the tiles of each step.
#include "dense/dense.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "run/threads.h"

namespace kernops {
namespace dense {
namespace {

using Size = std::ptrdiff_t;
constexpr Size width = 128;

// Calls f(0), ..., f(count - 1) in any order, on several threads.
template <class F> void for_each(int threads, Size count, F f) {
  std::atomic<Size> next{0};
  on_threads(std::min<Size>(threads, count), [&](bool) {
    for (Size n; (n = next++) < count;) f(n);
  });
}

// A square matrix that is divided into tiles.
struct Grid {
  Matrix a;
  Size count() const { return (a.rows + width - 1) / width; }
  Size size(Size i) const { return std::min(width, a.rows - i * width); }
  Matrix operator()(Size i, Size j) const { return a.block(i * width, j * width, size(i), size(j)); }
};

// The row and column indices of the tiles of a triangle, from tile column `first` on, column by column.
std::vector<std::pair<Size, Size>> triangle(Size first, Size count) {
  std::vector<std::pair<Size, Size>> tiles;
  for (Size j = first; j < count; ++j)
    for (Size i = j; i < count; ++i) tiles.push_back({i, j});
  return tiles;
}

Matrix over(std::vector<double>& memory, Size rows, Size columns) {
  memory.resize(size_t(rows) * size_t(columns));
  return {memory.data(), rows, columns, rows};
}

void copy(Matrix from, Matrix to) {
  for (Size j = 0; j < from.columns; ++j)
    std::copy(from.at + j * from.stride, from.at + j * from.stride + from.rows, to.at + j * to.stride);
}

void clear(Matrix a) {
  for (Size j = 0; j < a.columns; ++j) std::fill_n(a.at + j * a.stride, a.rows, 0.0);
}

// Replaces L by its inverse, one row of tiles after another. To the left of the diagonal, row i of the inverse is
// -L_ii^-1 (L_i0, L_i1, ...) times the rows of the inverse above row i.
void invert_factor(const Context& context, const Grid& l) {
  const Tiles& tiles = context.tiles;
  std::vector<double> memory;
  for (Size i = 0; i < l.count(); ++i) {
    context.check();
    const Matrix row = over(memory, l.size(i), i * width);
    copy(l.a.block(i * width, 0, row.rows, row.columns), row);
    for_each(context.threads, i, [&](Size j) {
      clear(l(i, j));
      const Size from = j * width, terms = i * width - from;
      tiles.subtract_product(l(i, j), row.block(0, from, row.rows, terms), false,
                             l.a.block(from, from, terms, l.size(j)), false);
      tiles.solve(l(i, i), Side::left, l(i, j));
    });
    tiles.invert(l(i, i));
  }
}

// Replaces a lower triangular M by the lower triangle of M' M: row i depends only on rows i, i + 1, ... of M.
void square_transposed(const Context& context, const Grid& m) {
  std::vector<double> memory;
  for (Size i = 0; i < m.count(); ++i) {
    context.check();
    const Size from = i * width, rows = m.a.rows - from;
    const Matrix column = over(memory, rows, m.size(i));
    copy(m.a.block(from, from, rows, m.size(i)), column);
    for (double& x : memory) x = -x;
    for_each(context.threads, i + 1, [&](Size j) {
      std::vector<double> scratch;
      const Matrix sum = over(scratch, m.size(i), m.size(j));
      context.tiles.subtract_product(sum, column, true, m.a.block(from, j * width, rows, m.size(j)), false);
      copy(sum, m(i, j));
    });
  }
}

}  // namespace

Size cholesky(const Context& context, Matrix a) {
  const Tiles& tiles = context.tiles;
  const Grid grid{a};
  for (Size k = 0; k < grid.count(); ++k) {
    context.check();
    const Size bad = tiles.factor(grid(k, k));
    if (bad >= 0) return k * width + bad;
    const Size below = grid.count() - k - 1;
    for_each(context.threads, below,
             [&](Size n) { tiles.solve(grid(k, k), Side::right_transposed, grid(k + 1 + n, k)); });
    const std::vector<std::pair<Size, Size>> rest = triangle(k + 1, grid.count());
    for_each(context.threads, Size(rest.size()), [&](Size n) {
      const Size i = rest[n].first, j = rest[n].second;
      tiles.subtract_product(grid(i, j), grid(i, k), false, grid(j, k), true);
    });
  }
  return -1;
}

void solve(const Context& context, Matrix l, bool transposed, Matrix b) {
  const Grid grid{l};
  const Size last = grid.count() - 1, columns = 64;
  context.check();
  for_each(context.threads, (b.columns + columns - 1) / columns, [&](Size n) {
    const Matrix mine = b.block(0, n * columns, b.rows, std::min(columns, b.columns - n * columns));
    for (Size step = 0; step <= last; ++step) {
      const Size k = transposed ? last - step : step, at = k * width, size = grid.size(k);
      const Matrix part = mine.block(at, 0, size, mine.columns);
      context.tiles.solve(grid(k, k), transposed ? Side::left_transposed : Side::left, part);
      if (transposed)
        context.tiles.subtract_product(mine.block(0, 0, at, mine.columns), l.block(at, 0, size, at), true, part, false);
      else
        context.tiles.subtract_product(mine.block(at + size, 0, b.rows - at - size, mine.columns),
                                       l.block(at + size, at, b.rows - at - size, size), false, part, false);
    }
  });
}

void product(const Context& context, Matrix a, bool transposed, Matrix b, Matrix c) {
  const Size rows = 4 * width, across = (c.rows + rows - 1) / rows, along = (c.columns + width - 1) / width;
  context.check();
  for_each(context.threads, across * along, [&](Size n) {
    const Size i = n % across * rows, j = n / across * width;
    const Matrix tile = c.block(i, j, std::min(rows, c.rows - i), std::min(width, c.columns - j));
    const Matrix left = transposed ? a.block(0, i, a.rows, tile.rows) : a.block(i, 0, tile.rows, a.columns);
    clear(tile);
    context.tiles.subtract_product(tile, left, transposed, b.block(0, j, b.rows, tile.columns), false);
    for (Size k = 0; k < tile.columns; ++k)
      for (Size m = 0; m < tile.rows; ++m) tile.at[k * tile.stride + m] *= -1;
  });
}

// Computes c = a b' for matrices with many columns. The columns are divided into blocks, whose number does not depend
// on the number of threads; the products of the blocks are added in order.
void outer_product(const Context& context, Matrix a, Matrix b, Matrix c) {
  constexpr Size most = 64;
  const Size columns = std::max<Size>(4 * width, (a.columns + most - 1) / most);
  const Size blocks = (a.columns + columns - 1) / columns, size = c.rows * c.columns;
  std::vector<double> memory(size_t(blocks * size), 0.0);
  context.check();
  for_each(context.threads, blocks, [&](Size n) {
    const Matrix sum{memory.data() + n * size, c.rows, c.columns, c.rows};
    const Size end = std::min(a.columns, (n + 1) * columns);
    for (Size j = n * columns; j < end; j += width) {
      const Size some = std::min(width, end - j);
      context.tiles.subtract_product(sum, a.block(0, j, a.rows, some), false, b.block(0, j, b.rows, some), true);
    }
  });
  clear(c);
  for (Size n = 0; n < blocks; ++n)
    for (Size j = 0; j < c.columns; ++j)
      for (Size i = 0; i < c.rows; ++i) c.at[i + j * c.stride] -= memory[size_t(n * size + j * c.rows + i)];
}

void inverse(const Context& context, Matrix l) {
  const Grid grid{l};
  invert_factor(context, grid);
  square_transposed(context, grid);
}

// Computes the diagonal of (L L')^-1. Entry c of the diagonal is the squared length of column c of L^-1. This column is
// 0 above row c.
void inverse_diagonal(const Context& context, Matrix l, double* to) {
  const Grid grid{l};
  const Context alone{context.tiles, 1, [] {}};
  const Size together = std::max(context.threads, 1);
  for (Size first = 0; first < grid.count(); first += together) {
    context.check();
    for_each(context.threads, std::min(together, grid.count() - first), [&](Size n) {
      const Size at = (first + n) * width, rows = l.rows - at;
      std::vector<double> memory;
      const Matrix columns = over(memory, rows, grid.size(first + n));
      for (Size c = 0; c < columns.columns; ++c) columns.at[c + c * rows] = 1;
      solve(alone, l.block(at, at, rows, rows), false, columns);
      for (Size c = 0; c < columns.columns; ++c) {
        const double* column = columns.at + c * rows;
        to[at + c] = std::inner_product(column, column + rows, column, 0.0);
      }
    });
  }
}

}  // namespace dense
}  // namespace kernops
