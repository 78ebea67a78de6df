// Covariance matrices of R/gp_exact.R, as the engine makes them: all on the CPU.
#include <algorithm>

#include "border.h"
#include "run/share_out.h"
#include "watch.h"

using namespace kernops;

namespace {

// A formula of the parameters theta and of points x and y, in this order, whose values are stored.
class Covariance {
 public:
  Covariance(const Kernel& kernel, const Rcpp::NumericVector& theta, const Rcpp::NumericMatrix& points,
             const std::string& isa, int threads)
      : kernel_(kernel), theta_{theta.begin(), 1, 0}, points_(points.begin()), n_(points.nrow()) {
    settings_.backend = &cpu_backend(), settings_.isa = isa, settings_.threads = threads;
  }

  // At points i.. and j.., m x n of them: entry k of a pair stands `entry` numbers from entry k - 1. Of `pairs`, where
  // not all are there, each column has its rows.
  void operator()(Count i, Count j, Count m, Count n, double* out, Count column, Count entry,
                  const Blocks* pairs = nullptr) const {
    execute(kernel_, {{theta_, from(i), from(j)}, {}, m, n, {nullptr, pairs}}, settings_, {out, entry, column});
  }

  Settings& settings() { return settings_; }

 private:
  ArrayRef from(Count n) const { return {points_ + n, n_, 1}; }

  const Kernel& kernel_;
  const ArrayRef theta_;
  const double* const points_;
  const Count n_;
  Settings settings_;
};

// Blocks of columns from the diagonal on.
Blocks lower_triangle(Count n, Count width) {
  Blocks blocks;
  for (Count j = 0; j < n; j += width) {
    const Count number = Count(blocks.rows.size());
    blocks.rows.push_back({j, std::min(j + width, n), number, number + 1, n - j});
    blocks.lanes.push_back({j, n, 0});
  }
  return blocks;
}

// Columns j..j_end of the lower triangle, rows i..i_end of them.
struct Tile {
  Count i, i_end, j, j_end;
};

std::vector<Tile> tiles_of_triangle(Count n, Count rows, Count columns) {
  std::vector<Tile> tiles;
  for (Count j = 0; j < n; j += columns)
    for (Count i = j; i < n; i += rows) tiles.push_back({i, std::min(i + rows, n), j, std::min(j + columns, n)});
  return tiles;
}

// W = x - left right', where x is symmetric and known by its lower triangle. Pairs below the diagonal are met once, and
// count twice.
struct PairWeights {
  const Rcpp::NumericMatrix &x, &left, &right;

  void column(const Tile& tile, Count j, double* to) const {
    const Count n = x.nrow(), rows = tile.i_end - tile.i;
    const double* from = x.begin() + j * n + tile.i;
    std::copy(from, from + rows, to);
    for (Count k = 0; k < left.ncol(); ++k) {
      const double factor = right.begin()[k * n + j], *l = left.begin() + k * n + tile.i;
      for (Count i = 0; i < rows; ++i) to[i] -= factor * l[i];
    }
    const Count diagonal = j - tile.i;  // above it may be anything
    if (diagonal > 0) std::fill(to, to + diagonal, 0.0);
    for (Count i = std::max<Count>(diagonal + 1, 0); i < rows; ++i) to[i] *= 2;
  }
};

// Four sums at a time, which are independent.
double inner_product(const double* a, const double* b, Count n) {
  double sums[4] = {};
  Count i = 0;
  for (; i + 4 <= n; i += 4)
    for (int u = 0; u < 4; ++u) sums[u] += a[i + u] * b[i + u];
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

// The lower triangle of k(x, x) is written into k; what is above is not to be read.
// [[Rcpp::export(rng = false)]]
void covariance_triangle(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta, Rcpp::NumericMatrix x,
                         Rcpp::NumericMatrix k, std::string isa, int threads) {
  guard([&] {
    const Count n = x.nrow();
    if (k.nrow() != n || k.ncol() != n) throw InputError("dim", "a covariance matrix must have the size of its points");
    Covariance values(*kernel, theta, x, isa, threads);
    values.settings().keep_going = watch(R_NilValue);
    const Blocks lower = lower_triangle(n, 32);
    values(0, 0, n, n, k.begin(), n, 0, &lower);
    return 0;
  });
}

// sum_ij W_ij dk(x_i, x_j) / dtheta with W = inverse - left right', of which `inverse` has the lower triangle. `kernel`
// stores the derivatives. Tiles of them stay in the cache until they have met their weights.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector covariance_weighted_sums(Rcpp::XPtr<kernops::Kernel> kernel, Rcpp::NumericVector theta,
                                             Rcpp::NumericMatrix x, Rcpp::NumericMatrix inverse,
                                             Rcpp::NumericMatrix left, Rcpp::NumericMatrix right, std::string isa,
                                             int threads) {
  return guard([&] {
    constexpr Count rows = 512, columns = 32;
    const Count n = x.nrow(), size = theta.size();
    const Covariance slopes(*kernel, theta, x, isa, 1);
    const PairWeights weights{inverse, left, right};
    const std::vector<Tile> tiles = tiles_of_triangle(n, rows, columns);
    const Count units = Count(tiles.size()), workers = std::min<Count>(n < 256 ? 1 : threads, units);
    const Count most = std::min(rows, n), room = most * columns * size;
    std::vector<double> memory(size_t(workers * (room + most))), sums(size_t(units * size));
    Settings watched;
    watched.keep_going = watch(R_NilValue);
    share_out(units, workers, watched, [&](Count unit, Count worker) {
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
    Rcpp::NumericVector total(size);
    for (size_t n = 0; n < sums.size(); ++n) total[R_xlen_t(n) % size] += sums[n];
    return total;
  });
}
