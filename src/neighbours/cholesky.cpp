#include "neighbours/cholesky.h"

#include <Eigen/SparseCore>
#include <Eigen/OrderingMethods>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace kernops::neighbours {

namespace {

using Matrix = Eigen::SparseMatrix<double>;

constexpr Count most_entries = 200000000;  // 1.6 GB
constexpr int most_columns = 128;          // maximum number of columns of a node
constexpr double most_zeros = 0.2;         // maximum share of entries of a node that are zeros

}  // namespace

void LowerTriangle::check() const {
  bool fits = start[0] == 0;
  for (int j = 0; fits && j < n; ++j) {
    fits = start[j + 1] > start[j] && row[start[j]] == j;
    for (Count k = start[j] + 1; fits && k < start[j + 1]; ++k) fits = row[k] > row[k - 1] && row[k] < n;
  }
  if (!fits) throw std::invalid_argument("the columns of a lower triangle have ascending rows from the diagonal on");
}

Count LowerTriangle::place(int i, int j) const {
  if (i < j) std::swap(i, j);
  return std::lower_bound(row + start[j], row + start[j + 1], i) - row;
}

SparseCholesky::SparseCholesky(const LowerTriangle& pattern)
    : n_(pattern.n),
      own_start_(pattern.start, pattern.start + n_ + 1),
      own_row_(pattern.row, pattern.row + pattern.entries()),
      position_(size_t(n_)) {
  pattern_ = {n_, own_start_.data(), own_row_.data()};
  permute(), count_entries();
}

// Computes the approximate minimum degree ordering.
void SparseCholesky::permute() {
  const std::vector<double> ones(own_row_.size(), 1.0);
  const Matrix lower =
      Eigen::Map<const Matrix>(n_, n_, pattern_.entries(), own_start_.data(), own_row_.data(), ones.data());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::AMDOrdering<int>()(lower.selfadjointView<Eigen::Lower>(), order);
  for (int j = 0; j < n_; ++j) position_[size_t(order.indices()[j])] = j;
  const auto each = [&](const auto& body) {
    for (int j = 0; j < n_; ++j)
      for (int k = own_start_[size_t(j)]; k < own_start_[size_t(j) + 1]; ++k) {
        const auto ends = std::minmax(position_[size_t(own_row_[size_t(k)])], position_[size_t(j)]);
        body(ends.first, ends.second, k);
      }
  };
  upper_start_.assign(size_t(n_) + 1, 0), upper_row_.resize(own_row_.size()), upper_from_.resize(own_row_.size());
  each([&](int, int column, int) { ++upper_start_[size_t(column) + 1]; });
  std::partial_sum(upper_start_.begin(), upper_start_.end(), upper_start_.begin());
  std::vector<int> next(upper_start_.begin(), upper_start_.end() - 1);
  each([&](int row, int column, int k) {
    const size_t to = size_t(next[size_t(column)]++);
    upper_row_[to] = row, upper_from_[to] = k;
  });
}

// Calls each(i) for each column i in which row k of L has an entry. These columns are on the paths in the elimination
// tree from the entries of column k to k (Liu 1990). `seen` stores, for each column, the last row that visited it. The
// first call for all rows also sets the parents in the tree.
template <class Each> void SparseCholesky::each_column(int k, std::vector<int>& seen, const Each& each) {
  seen[size_t(k)] = k;
  for (int e = upper_start_[size_t(k)]; e < upper_start_[size_t(k) + 1]; ++e)
    for (int i = upper_row_[size_t(e)]; seen[size_t(i)] != k; i = parent_[size_t(i)]) {
      if (parent_[size_t(i)] < 0) parent_[size_t(i)] = k;
      seen[size_t(i)] = k, each(i);
    }
}

void SparseCholesky::count_entries() {
  std::vector<int> seen(size_t(n_), -1);
  parent_.assign(size_t(n_), -1), count_.assign(size_t(n_), 1);
  Count total = n_;
  for (int k = 0; k < n_; ++k) {
    each_column(k, seen, [&](int i) { ++count_[size_t(i)], ++total; });
    if (total > most_entries) {
      entries_ = operations_ = INFINITY;
      return;
    }
  }
  entries_ = double(total);
  for (const int below : count_) operations_ += double(below) * below;
}

// Finds the supernodes. The next column joins a node if it is the parent of the node's last column in the elimination
// tree, and if the block of the node then has few zeros.
void SparseCholesky::find_nodes() {
  node_of_.resize(size_t(n_));
  Count row = 0, value = 0;
  for (int first = 0; first < n_;) {
    int end = first + 1;
    double entries = count_[size_t(first)];
    for (; end < n_ && end - first < most_columns && parent_[size_t(end) - 1] == end; ++end) {
      const double width = end + 1 - first, below = count_[size_t(end)] - 1;
      if ((entries + below + 1) < (1 - most_zeros) * width * ((width + 1) / 2 + below)) break;
      entries += below + 1;
    }
    std::fill(node_of_.begin() + first, node_of_.begin() + end, int(nodes_.size()));
    const int height = end - 1 - first + count_[size_t(end) - 1];
    nodes_.push_back({first, end, height, row, value});
    row += height, value += Count(height) * (end - first), first = end;
  }
  row_.resize(size_t(row));
  find_rows(), find_places();
}

// Finds the rows of the nodes. The rows of a node are its own columns, followed by the later rows in which its last
// column has entries.
void SparseCholesky::find_rows() {
  std::vector<int> seen(size_t(n_), -1), filled(nodes_.size());
  for (size_t s = 0; s < nodes_.size(); ++s) {
    filled[s] = nodes_[s].width();
    std::iota(row_.begin() + nodes_[s].row, row_.begin() + nodes_[s].row + filled[s], nodes_[s].first);
  }
  for (int k = 0; k < n_; ++k)
    each_column(k, seen, [&](int i) {
      const size_t s = size_t(node_of_[size_t(i)]);
      if (i == nodes_[s].end - 1) row_[size_t(nodes_[s].row + filled[s]++)] = k;
    });
}

void SparseCholesky::find_places() {
  place_.resize(own_row_.size());
  for (int j = 0; j < n_; ++j)
    for (int k = own_start_[size_t(j)]; k < own_start_[size_t(j) + 1]; ++k) {
      const auto ends = std::minmax(position_[size_t(own_row_[size_t(k)])], position_[size_t(j)]);
      const Node& node = node_of(ends.first);
      const int* const row = std::lower_bound(rows(node), rows(node) + node.height, ends.second);
      place_[size_t(k)] = node.value + Count(ends.first - node.first) * node.height + (row - rows(node));
    }
}

double SparseCholesky::Rows::variance(size_t i) const { return scale(i, scale(i, 1)); }

double SparseCholesky::Rows::scale(size_t i, double value) const {
  return value / *of.column(int(size_t(of.n_) - 1 - i), of.value_).value;
}

void SparseCholesky::sums(const PointSets& sets, const double* weights, const Settings& settings, double* to) const {
  std::vector<int> at(size_t(sets.count * sets.m));
  for (size_t k = 0; k < at.size(); ++k) at[k] = sets.at[k] > 0 ? int(reversed(sets.at[k] - 1)) + 1 : 0;
  const PointSets reversed{at.data(), sets.count, sets.m};
  variances_of_all_sums(Rows{*this}, n_, reversed, weights, alike_together(reversed, settings), settings, to, nullptr);
}

}  // namespace kernops::neighbours
