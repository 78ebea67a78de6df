// Dense linear algebra on the CPU.
#include "dense/dense.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "cpu/cpu.h"
#include "dense/algebra.h"
#include "dense/inner_product.h"
#include "neighbours/sparse_inverse.h"
#include "run/parallel_for.h"

namespace kernops {
namespace cpu {
namespace {

using Numbers = Dense::Numbers;

dense::Matrix matrix(const Block& x) { return {x.at, x.rows, x.columns, x.rows}; }

// Evaluates a formula for many pairs. The variables of the formula are the parameters theta and the points x and y, in
// this order.
class Covariance {
 public:
  Covariance(const Kernel& kernel, const ArrayRef& theta, const Block& x, const Block& y, const Settings& settings)
      : kernel_(kernel), theta_(theta), x_(x), y_(y), settings_(settings) {
    settings_.backend = &cpu_backend();
  }

  // Computes the values of the pairs of m points x, from point i on, and n points y, from point j on. Successive
  // entries of a pair are `entry` numbers apart. If only some pairs are needed, `pairs` has the rows of each column.
  void operator()(Count i, Count j, Count m, Count n, double* out, Count column, Count entry,
                  const Blocks* pairs = nullptr) const {
    execute(kernel_, {{theta_, from(x_, i), from(y_, j)}, {}, m, n, {nullptr, pairs}}, settings_, {out, entry, column});
  }

 private:
  static ArrayRef from(const Block& points, Count n) { return {points.at + n, points.rows, 1}; }

  const Kernel& kernel_;
  const ArrayRef theta_;
  const Block x_, y_;
  Settings settings_;
};

// The pairs of the lower triangle, as blocks of columns that begin at the diagonal.
Blocks lower_triangle(Count n, Count width) {
  Blocks blocks;
  for (Count j = 0; j < n; j += width) {
    const Count number = Count(blocks.rows.size());
    blocks.rows.push_back({j, std::min(j + width, n), number, number + 1, n - j});
    blocks.columns.push_back({j, n, 0});
  }
  return blocks;
}

// A tile of the lower triangle: rows i .. i_end - 1 of columns j .. j_end - 1.
struct Tile {
  Count i, i_end, j, j_end;
};

std::vector<Tile> tiles_of_triangle(Count n, Count rows, Count columns) {
  std::vector<Tile> tiles;
  for (Count j = 0; j < n; j += columns)
    for (Count i = j; i < n; i += rows) tiles.push_back({i, std::min(i + rows, n), j, std::min(j + columns, n)});
  return tiles;
}

// The weights W = x - left right' of pairs, where x is a symmetric matrix, stored as its lower triangle. A pair below
// the diagonal also stands for the pair above the diagonal with the same points, so its weight is doubled.
struct PairWeights {
  const Block &x, &left, &right;

  void column(const Tile& tile, Count j, double* to) const {
    const Count n = x.rows, rows = tile.i_end - tile.i;
    const double* from = x.at + j * n + tile.i;
    std::copy(from, from + rows, to);
    for (Count k = 0; k < left.columns; ++k) {
      const double factor = right.at[k * n + j], *l = left.at + k * n + tile.i;
      for (Count i = 0; i < rows; ++i) to[i] -= factor * l[i];
    }
    const Count diagonal = j - tile.i;  // entries above the diagonal may have any value
    if (diagonal > 0) std::fill(to, to + diagonal, 0.0);
    for (Count i = std::max<Count>(diagonal + 1, 0); i < rows; ++i) to[i] *= 2;
  }
};

// Replaces b by R b for an upper triangular matrix R.
void times_upper(const Numbers& r, Count k, double* b) {
  for (Count c = 0; c < k; ++c)
    for (Count i = 0; i < k; ++i) {
      double sum = 0;
      for (Count j = i; j < k; ++j) sum += r[size_t(j * k + i)] * b[c * k + j];
      b[c * k + i] = sum;
    }
}

class HostDense : public Dense {
 public:
  void axpby(const Numbers& a, const Block& x, const Numbers& b, const Block& y) const override {
    for (Count c = 0; c < y.columns; ++c) {
      const double *from = x.at + c * x.rows, factor = a[size_t(c)], scale = b[size_t(c)];
      double* const to = y.at + c * y.rows;
      for (Count i = 0; i < y.rows; ++i) to[i] = factor * from[i] + scale * to[i];
    }
  }

  void add_rows(const Block& d, const Block& x, const Block& y) const override {
    for (Count c = 0; c < y.columns; ++c)
      for (Count i = 0; i < y.rows; ++i) y.at[c * y.rows + i] += d.at[i] * x.at[c * x.rows + i];
  }

  void dots(const Block& x, const Block& y, double* to) const override {
    for (Count c = 0; c < x.columns; ++c) to[c] = inner_product(x.at + c * x.rows, y.at + c * y.rows, x.rows);
  }

  void put(const Block& x, const int* columns, const Block& y) const override {
    for (Count n = 0; n < y.columns; ++n)
      std::copy(y.at + n * y.rows, y.at + (n + 1) * y.rows, x.at + Count(columns[n] - 1) * x.rows);
  }

  void inner(const Block& x, const Block& y, double* to, const Settings& settings) const override {
    const double work = double(x.length()) * double(y.columns);
    if (x.columns * y.columns > 0)
      dense::product(context(settings, work), matrix(x), true, matrix(y), {to, x.columns, y.columns, x.columns});
  }

  void combine(const Block& x, const double* C, Count terms, const Block& out,
               const Settings& settings) const override {
    const Block first{x.at, x.rows, terms}, weights{const_cast<double*>(C), terms, out.columns};
    const double work = double(x.length()) * double(out.columns);
    if (out.length() > 0) dense::product(context(settings, work), matrix(first), false, matrix(weights), matrix(out));
  }

  bool whiten(const Block& x, const Block& core, double more, const Settings& settings) const override {
    for (Count n = 0; n < core.rows; ++n) core.at[n * (core.rows + 1)] += more;
    const dense::Context all = context(settings, double(x.length()) * double(core.rows));
    if (dense::cholesky(all, matrix(core)) >= 0) return false;
    all.tiles.invert(matrix(core));  // L^-1, with zeros above the diagonal
    Numbers upper(size_t(core.length()));
    for (Count i = 0; i < core.rows; ++i)
      for (Count j = 0; j <= i; ++j) upper[size_t(i * core.rows + j)] = core.at[j * core.rows + i];
    const Numbers before(x.at, x.at + x.length());
    combine({const_cast<double*>(before.data()), x.rows, x.columns}, upper.data(), core.rows, x, settings);
    return true;
  }

  void sparse_inverse(const neighbours::SparseInverse& inverse, const Block& x, const Block& out,
                      std::shared_ptr<BackendCache>&, const Settings& settings) const override {
    inverse.apply(x.at, int(x.columns), out.at, settings);
  }

  void orthogonal(const Block& q, int passes, double* R, const Settings& settings) const override {
    const Count k = q.columns;
    Numbers below(size_t(k * k), 0.0), inside(below.size()), under(below.size());
    for (Count n = 0; n < k; ++n) below[size_t(n * (k + 1))] = 1, R[n * (k + 1)] = 1;
    const Block b{below.data(), k, k};
    for (int pass = 0; pass < passes; ++pass) {
      inner(q, q, inside.data(), settings);
      inner(b, b, under.data(), settings);
      for (size_t n = 0; n < inside.size(); ++n) inside[n] += under[n];
      Numbers factor = inside;
      if (dense::cholesky(context(settings, 1e9), {factor.data(), k, k, k}) >= 0)
        throw std::invalid_argument("the columns of the preconditioner are not finite");
      Numbers upper(factor.size(), 0.0);
      for (Count i = 0; i < k; ++i)
        for (Count j = 0; j <= i; ++j) upper[size_t(i * k + j)] = factor[size_t(j * k + i)];
      Numbers core = inside;
      whiten(q, {core.data(), k, k}, 0, settings);
      core = inside;
      whiten(b, {core.data(), k, k}, 0, settings);
      times_upper(upper, k, R);
    }
  }

  void covariance(const Kernel& kernel, const ArrayRef& theta, const Block& x, const Block& y, bool triangle,
                  const Block& k, const Settings& settings) const override {
    const Blocks lower = triangle ? lower_triangle(x.rows, 32) : Blocks{};
    Covariance(kernel, theta, x, y, settings)(0, 0, x.rows, y.rows, k.at, k.rows, 0, triangle ? &lower : nullptr);
  }

  Count factor(const Block& k, const Block& added, const Settings& settings) const override {
    for (Count n = 0; n < k.rows; ++n) {
      k.at[n * (k.rows + 1)] += added.at[n];
      if (!std::isfinite(k.at[n * (k.rows + 1)])) return 1;
    }
    return Count(dense::cholesky(context(settings, 1e9), matrix(k)) + 1);
  }

  Numbers diagonal(const Block& l) const override {
    Numbers all(size_t(l.rows));
    for (Count n = 0; n < l.rows; ++n) all[size_t(n)] = l.at[n * (l.rows + 1)];
    return all;
  }

  void solve(const Block& l, bool transposed, const Block& b, const Settings& settings) const override {
    dense::solve(context(settings, 1e9), matrix(l), transposed, matrix(b));
  }

  void times(const Block& l, const Block& b, const Block& out) const override {
    std::fill_n(out.at, out.length(), 0.0);
    const Count n = l.rows;
    for (Count c = 0; c < b.columns; ++c)
      for (Count j = 0; j < n; ++j)
        for (Count i = j; i < n; ++i) out.at[c * n + i] += l.at[j * n + i] * b.at[c * n + j];
  }

  Numbers diagonal_of_inverse(const Block& l, const Settings& settings) const override {
    Numbers diagonal(size_t(l.rows));
    dense::inverse_diagonal(context(settings, 1e9), matrix(l), diagonal.data());
    return diagonal;
  }

  void invert(const Block& l, const Settings& settings) const override {
    dense::inverse(context(settings, 1e9), matrix(l));
  }
  Numbers inverse_diagonal(const Block& inverse) const override { return diagonal(inverse); }

  // Reads only the lower triangle of `inverse`.
  void inverse_times(const Block& inverse, const Block& b, const Block& out) const override {
    const Count n = inverse.rows;
    std::fill_n(out.at, out.length(), 0.0);
    for (Count c = 0; c < b.columns; ++c) {
      const double* in = b.at + c * n;
      double* to = out.at + c * n;
      for (Count j = 0; j < n; ++j) {
        const double* column = inverse.at + j * n;
        double sum = column[j] * in[j];
        for (Count i = j + 1; i < n; ++i) {
          to[i] += column[i] * in[j];
          sum += column[i] * in[i];
        }
        to[j] += sum;
      }
    }
  }

  // Computes the derivatives tile by tile, and multiplies each tile by the weights while the tile is in the cache.
  Numbers weighted_derivatives(const Kernel& stored, const Kernel&, const ArrayRef& theta, const Block& x,
                               const Block& inverse, const Block& left, const Block& right,
                               const Settings& settings) const override {
    constexpr Count rows = 512, columns = 32;
    const Count n = x.rows, size = stored.program.variables[0].size;
    Settings alone = settings;
    alone.threads = 1, alone.keep_going = nullptr;
    const Covariance slopes(stored, theta, x, x, alone);
    const PairWeights weights{inverse, left, right};
    const std::vector<Tile> tiles = tiles_of_triangle(n, rows, columns);
    const Count units = Count(tiles.size()), workers = std::min<Count>(n < 256 ? 1 : settings.threads, units);
    const Count most = std::min(rows, n), room = most * columns * size;
    Numbers memory(size_t(workers * (room + most))), sums(size_t(units * size)), total(size_t(size), 0.0);
    parallel_for(units, workers, settings, [&](Count unit, Count worker) {
      const Tile& tile = tiles[size_t(unit)];
      const Count m = tile.i_end - tile.i, count = tile.j_end - tile.j;
      double* const block = memory.data() + worker * (room + most);
      double* const weight = block + room;
      slopes(tile.i, tile.j, m, count, block, m, m * count);
      for (Count j = 0; j < count; ++j) {
        weights.column(tile, tile.j + j, weight);
        for (Count k = 0; k < size; ++k)
          sums[size_t(unit * size + k)] += inner_product(weight, block + (k * count + j) * m, m);
      }
    });
    for (size_t k = 0; k < sums.size(); ++k) total[k % size_t(size)] += sums[k];
    return total;
  }

 private:
  // The context of a computation; a small computation uses one thread.
  static dense::Context context(const Settings& settings, double work) {
    const auto check = [&settings] {
      if (settings.keep_going && !settings.keep_going(0)) throw Interrupted();
    };
    return {dense_tiles(settings.isa), work > 1e6 ? settings.threads : 1, check};
  }
};

}  // namespace

const dense::Tiles& dense_tiles(const std::string& isa) {
  const std::vector<std::string> all = instruction_sets();
  const bool wide = isa != "baseline" && std::find(all.begin(), all.end(), "avx2") != all.end();
#ifdef __x86_64__
  if (wide) return dense::tiles_avx2;
#endif
  (void)wide;
  return dense::tiles_baseline;
}

const Dense& dense() {
  static const HostDense algebra;
  return algebra;
}

}  // namespace cpu
}  // namespace kernops
