// The sparse Cholesky factorisation by supernodes, and results computed from the factor.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cpu/cpu.h"
#include "neighbours/cholesky.h"
#include "neighbours/lanes.h"
#include "run/parallel_for.h"

namespace kernops::neighbours {

namespace {

using dense::Matrix;
using dense::Side;

constexpr Count rows_together = 256;
constexpr double worth_threads = 2e6;  // minimum number of multiplications for which several threads are used

// Calls work(first, count) for successive parts of `rows` rows.
template <class Work> void by_rows(Count rows, double operations, const Settings& settings, const Work& work) {
  const Count units = ceil_div(rows, rows_together);
  const Count workers = operations < worth_threads ? 1 : std::min<Count>(settings.threads, units);
  parallel_for(units, std::max<Count>(workers, 1), settings, [&](Count unit, Count) {
    work(unit * rows_together, std::min(rows_together, rows - unit * rows_together));
  });
}

// Subtracts a b or, if `transposed`, a b' from c.
void subtract_product(Matrix c, Matrix a, Matrix b, bool transposed, const Settings& settings) {
  const dense::Tiles& tiles = cpu::dense_tiles(settings.isa);
  by_rows(c.rows, double(c.rows) * double(c.columns) * double(a.columns), settings, [&](Count first, Count count) {
    tiles.subtract_product(c.block(first, 0, count, c.columns), a.block(first, 0, count, a.columns), false, b,
                           transposed);
  });
}

Matrix zeros(std::vector<double>& memory, Count rows, Count columns) {
  memory.assign(size_t(rows * columns), 0.0);
  return {memory.data(), rows, columns, std::max<Count>(rows, 1)};
}

}  // namespace

// The nodes whose products must still be subtracted from later nodes. Such a node waits in the list of the node that
// contains the next row to update.
struct SparseCholesky::Updates {
  SparseCholesky& of;
  std::vector<int> first, next, done, slot;
  std::vector<double> memory{};

  explicit Updates(SparseCholesky& factor)
      : of(factor), first(factor.nodes_.size(), -1), next(first), done(first), slot(size_t(factor.n_)) {}

  Matrix block(const Node& node) const {
    return {of.value_.data() + node.value, node.height, node.width(), node.height};
  }

  void wait(int number) {
    const Node& node = of.nodes_[size_t(number)];
    const int row = done[size_t(number)];
    if (row == node.height) return;
    int& list = first[size_t(of.node_of_[size_t(of.rows(node)[row])])];
    next[size_t(number)] = list, list = number;
  }

  void subtract_all(int number, const Settings& settings) {
    const Node& node = of.nodes_[size_t(number)];
    for (int i = 0; i < node.height; ++i) slot[size_t(of.rows(node)[i])] = i;
    for (int earlier = first[size_t(number)], after; earlier >= 0; earlier = after) {
      after = next[size_t(earlier)];
      subtract(of.nodes_[size_t(earlier)], done[size_t(earlier)], node, settings);
      wait(earlier);
    }
  }

  void subtract(const Node& from, int& row, const Node& node, const Settings& settings) {
    const int* const rows = of.rows(from);
    const int begin = row;
    while (row < from.height && rows[row] < node.end) ++row;
    const Count count = from.height - begin, columns = row - begin;
    const Matrix product = zeros(memory, count, columns);
    const Matrix below = block(from).block(begin, 0, count, from.width());
    subtract_product(product, below, below.block(0, 0, columns, from.width()), true, settings);
    const Matrix to = block(node);
    for (Count j = 0; j < columns; ++j) {
      double* const column = to.at + Count(rows[begin + j] - node.first) * to.stride;
      for (Count i = j; i < count; ++i) column[slot[size_t(rows[begin + i])]] += product.at[i + j * product.stride];
    }
  }
};

bool SparseCholesky::factor(const double* values, const Settings& settings) {
  if (!std::isfinite(entries_)) throw std::length_error("there are too many entries of a sparse factor");
  if (nodes_.empty()) find_nodes();
  value_.assign(size_t(nodes_.back().value + Count(nodes_.back().height) * nodes_.back().width()), 0.0);
  for (size_t k = 0; k < place_.size(); ++k) value_[size_t(place_[k])] = values[k];
  const dense::Tiles& tiles = cpu::dense_tiles(settings.isa);
  Updates updates(*this);
  for (int s = 0; s < int(nodes_.size()); ++s) {
    updates.subtract_all(s, settings);
    const Matrix block = updates.block(nodes_[size_t(s)]);
    const Count width = block.columns, below = block.rows - width;
    const Matrix top = block.block(0, 0, width, width);
    if (tiles.factor(top) >= 0) return false;
    by_rows(below, double(below) * double(width * width), settings, [&](Count first, Count count) {
      tiles.solve(top, Side::right_transposed, block.block(width + first, 0, count, width));
    });
    updates.done[size_t(s)] = int(width), updates.wait(s);
  }
  return std::isfinite(logdet());
}

double SparseCholesky::logdet() const {
  double sum = 0;
  for (int j = 0; j < n_; ++j) sum += 2 * std::log(*column(j, value_).value);
  return sum;
}

template <class Number> void SparseCholesky::solve_column(Number* x, Number* workspace, Half half) const {
  if (half != Half::second) {
    for (int j = 0; j < n_; ++j) workspace[position_[size_t(j)]] = x[j];
    for (int j = 0; j < n_; ++j) {
      const Column l = column(j, value_);
      const Number solved = workspace[j] /= l.value[0];
      for (int k = 1; k < l.length; ++k) workspace[l.row[k]] -= l.value[k] * solved;
    }
  } else {
    std::copy_n(x, n_, workspace);
  }
  if (half == Half::first) {
    std::copy_n(workspace, n_, x);
    return;
  }
  for (int j = n_; j-- > 0;) {
    const Column l = column(j, value_);
    Number sum = workspace[j];
    for (int k = 1; k < l.length; ++k) sum -= l.value[k] * workspace[l.row[k]];
    workspace[j] = sum / l.value[0];
  }
  for (int j = 0; j < n_; ++j) x[j] = workspace[position_[size_t(j)]];
}

void SparseCholesky::solve(double* x, Count columns, Half half, const Settings& settings) const {
  const Count workers = std::max<Count>(1, std::min<Count>(settings.threads, columns));
  const std::vector<double> one(static_cast<size_t>(n_));
  std::vector<std::vector<double>> workspace(static_cast<size_t>(workers), one);
  parallel_for(columns, workers, settings, [&](Count column, Count worker) {
    solve_column(x + column * n_, workspace[size_t(worker)].data(), half);
  });
}

template <class Number> void SparseCholesky::solve(Number* x, Half half) const {
  std::vector<Number> workspace(static_cast<size_t>(n_));
  solve_column(x, workspace.data(), half);
}
template void SparseCholesky::solve(double*, Half) const;
template void SparseCholesky::solve(Lanes*, Half) const;

void SparseCholesky::multiply(double* x) const {
  Numbers product(static_cast<size_t>(n_), 0.0);
  for (int j = 0; j < n_; ++j) {
    const Column l = column(j, value_);
    for (int k = 0; k < l.length; ++k) product[size_t(l.row[k])] += l.value[k] * x[j];
  }
  for (int j = 0; j < n_; ++j) x[j] = product[size_t(position_[size_t(j)])];
}

// Computes the entries of the inverse in the blocks of L, from the last node to the first (Takahashi et al. 1973).
SparseCholesky::Numbers SparseCholesky::inverse(const Settings& settings) const {
  Numbers z(value_.size());
  std::vector<int> slot(size_t(n_), 0);
  for (size_t s = nodes_.size(); s-- > 0;) invert_node(nodes_[s], slot, z, settings);
  return z;
}

// Computes the inverse Z in the block of a node. Let J be the columns of the node, R the rows below them, M = L[J,
// J]^-1 and Y = L[R, J] M. Then Z[R, J] = -Z[R, R] Y, and Z[J, J] = M' M + Y' Z[R, R] Y. All entries of Z[R, R] are in
// the blocks of later nodes.
void SparseCholesky::invert_node(const Node& node, std::vector<int>& slot, Numbers& z, const Settings& settings) const {
  const Count width = node.width(), below = node.height - width;
  const int* const under = rows(node) + width;
  Numbers memory[4];
  const Matrix within = zeros(memory[0], below, below), product = zeros(memory[1], below, width);
  for (Count r = 0; r < below; ++r) slot[size_t(under[r])] = int(r) + 1;
  by_rows(below, double(below) * double(below), settings, [&](Count first, Count count) {
    for (Count r = first; r < first + count; ++r) {
      const Column from = column(under[r], z);
      for (int e = 0; e < from.length; ++e)
        if (const Count to = slot[size_t(from.row[e])])
          within.at[to - 1 + r * below] = within.at[r + (to - 1) * below] = from.value[e];
    }
  });
  for (Count r = 0; r < below; ++r) slot[size_t(under[r])] = 0;
  const dense::Tiles& tiles = cpu::dense_tiles(settings.isa);
  const Matrix root = zeros(memory[2], width, width), minus_y = zeros(memory[3], below, width);
  const Matrix block{const_cast<double*>(value_.data()) + node.value, node.height, width, node.height};
  for (Count k = 0; k < width; ++k)
    std::copy_n(block.at + k * (block.stride + 1), width - k, root.at + k * (width + 1));
  tiles.invert(root);
  const Matrix to{z.data() + node.value, node.height, width, node.height};
  subtract_product(minus_y, block.block(width, 0, below, width), root, false, settings);
  subtract_product(product, within, minus_y, false, settings);  // Z[R, R] Y
  for (Count k = 0; k < width; ++k)
    for (Count r = 0; r < below; ++r) to.at[width + r + k * to.stride] = -product.at[r + k * below];
  tiles.subtract_product(to.block(0, 0, width, width), minus_y, true, product, false);
  const Numbers upright(memory[2]);
  for (double& x : memory[2]) x = -x;
  tiles.subtract_product(to.block(0, 0, width, width), {const_cast<double*>(upright.data()), width, width, width}, true,
                         root, false);
}

void SparseCholesky::invert(double* values, const Settings& settings) const {
  const Numbers z = inverse(settings);
  for (size_t k = 0; k < place_.size(); ++k) values[k] = z[size_t(place_[k])];
}

}  // namespace kernops::neighbours
