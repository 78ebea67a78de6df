#include <algorithm>

#include "cpu/cpu.h"
#include "run/parallel_for.h"
#include "sets/responses.h"

namespace kernops {

using Eigen::MatrixXd;

namespace {

SetRequest at_theta(const ResponseRequest& request, const double* theta) {
  SetRequest sets = request.sets;
  sets.theta = theta, sets.slopes = nullptr;
  if (sets.nugget >= 0) sets.slopes_of_noise = theta[sets.nugget];
  return sets;
}

// Returns the whitened columns of the trend, with the numbers of a point next to each other.
std::vector<double> whitened_trend(const SetRequest& sets, const std::vector<double>& weights,
                                   const std::vector<double>& sd) {
  std::vector<double> whitened(size_t(sets.n) * sets.columns);
  for (Count i = 0; i < sets.n; ++i)
    for (int c = 0; c < sets.columns; ++c) {
      const double* x = sets.values + Count(c) * sets.n;
      const int* neighbours = sets.neighbours + i * sets.stride;
      double z = x[i];
      for (int a = 0; a < sets.m && neighbours[a] > 0; ++a) z -= weights[size_t(i * sets.m + a)] * x[neighbours[a] - 1];
      whitened[size_t(i * sets.columns + c)] = z / sd[size_t(i)];
    }
  return whitened;
}

MatrixXd root_of(const std::vector<double>& whitened, Count n, int columns) {
  if (!columns) return MatrixXd(0, 0);
  const Eigen::Map<const MatrixXd> z(whitened.data(), columns, n);
  return Eigen::LLT<MatrixXd>(z * z.transpose()).matrixL();
}

}  // namespace

ColumnBlocks::ColumnBlocks(const double* columns, Count n, Count count)
    : n_(n), count_(count), values_(size_t(ceil_div(count, column_block) * column_block * n)) {
  for (Count j = 0; j < count; ++j) {
    double* to = values_.data() + (j / column_block) * column_block * n + j % column_block;
    for (Count i = 0; i < n; ++i) to[i * column_block] = columns[j * n + i];
  }
}

SharedProducts shared_products(const ResponseRequest& request, const ColumnBlocks& columns, const double* theta) {
  const SetRequest sets = at_theta(request, theta);
  const int p = sets.columns;
  std::vector<double> weights(size_t(sets.sets) * sets.m), sd(size_t(sets.sets));
  cpu::set_weights(sets, weights.data(), sd.data());
  SharedProducts products{};
  products.regular = std::all_of(sd.begin(), sd.end(), [](double x) { return x > 0; });
  if (!products.regular) return products;
  for (double x : sd) products.logdet += 2 * std::log(x);
  const std::vector<double> whitened = whitened_trend(sets, weights, sd);
  products.root = root_of(whitened, sets.n, p);
  products.squares.resize(size_t(columns.count()));
  products.across.resize(p, columns.count());
  const Settings& settings = sets.settings;
  parallel_for(columns.blocks(), std::min<Count>(settings.threads, columns.blocks()), settings, [&](Count b, Count) {
    std::vector<double> sums(size_t(1 + p) * column_block);
    const ColumnJob job{weights.data(), sd.data(),        sets.neighbours, sets.m, sets.stride,
                        sets.sets,      columns.block(b), whitened.data(), p,      sums.data()};
    cpu::multiply_columns(job, settings);
    for (Count j = b * column_block; j < std::min(columns.count(), (b + 1) * column_block); ++j) {
      const double* from = sums.data() + j % column_block;
      products.squares[size_t(j)] = from[0];
      for (int c = 0; c < p; ++c) products.across(c, j) = from[(1 + c) * column_block];
    }
  });
  return products;
}

std::vector<double> shared_values(const ResponseRequest& request, const MatrixXd& theta) {
  const ColumnBlocks columns(request.responses, request.sets.n, request.count);
  const Settings& settings = request.sets.settings;
  ResponseRequest one = request;  // a request that uses one thread
  one.sets.settings.threads = 1, one.sets.settings.keep_going = nullptr;
  const double degrees = double(request.sets.n - (request.reml ? request.sets.columns : 0));
  std::vector<double> values(size_t(request.count * theta.cols()), INFINITY);
  parallel_for(theta.cols(), std::min<Count>(settings.threads, theta.cols()), settings, [&](Count t, Count) {
    const SharedProducts products = shared_products(one, columns, theta.col(t).data());
    if (!products.regular) return;
    const MatrixXd along = products.root.triangularView<Eigen::Lower>().solve(products.across);
    for (Count j = 0; j < request.count; ++j) {
      const double quadratic = products.squares[size_t(j)] - along.col(j).squaredNorm();
      const double value = profile_value(degrees, quadratic, products.logdet, products.root, request.reml);
      if (std::isfinite(value)) values[size_t(t * request.count + j)] = value;
    }
  });
  return values;
}

}  // namespace kernops
