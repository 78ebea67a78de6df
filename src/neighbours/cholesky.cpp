#include "neighbours/cholesky.h"

#include <Eigen/Dense>
#include <Eigen/SparseCholesky>
#include <cmath>
#include <stdexcept>

namespace kernops::neighbours {

namespace {

using Matrix = Eigen::SparseMatrix<double>;

constexpr Count most_entries = 200000000;  // 2.4 GB

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

// Eigen's class for a matrix in the order of elimination.
struct SparseCholesky::Solver : Eigen::SimplicialLLT<Matrix, Eigen::Upper, Eigen::NaturalOrdering<int>> {
  const Matrix& lower() const { return m_matrix; }
};

SparseCholesky::SparseCholesky(const LowerTriangle& pattern)
    : n_(pattern.n),
      own_start_(pattern.start, pattern.start + n_ + 1),
      own_row_(pattern.row, pattern.row + pattern.entries()),
      position_(size_t(n_)) {
  pattern_ = {n_, own_start_.data(), own_row_.data()};
  permute(), count_entries();
}

SparseCholesky::~SparseCholesky() = default;

// Approximate minimum degree ordering.
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

// Row k of L has the nodes of the elimination tree on the paths to k from the entries of column k (Liu 1990).
void SparseCholesky::count_entries() {
  std::vector<int> parent(size_t(n_), -1), seen(size_t(n_), -1), count(size_t(n_), 1);
  Count total = n_;
  for (int k = 0; k < n_; ++k) {
    seen[size_t(k)] = k;
    for (int e = upper_start_[size_t(k)]; e < upper_start_[size_t(k) + 1]; ++e)
      for (int i = upper_row_[size_t(e)]; seen[size_t(i)] != k; i = parent[size_t(i)]) {
        if (parent[size_t(i)] < 0) parent[size_t(i)] = k;
        seen[size_t(i)] = k, ++count[size_t(i)], ++total;
      }
    if (total > most_entries) {
      entries_ = operations_ = INFINITY;
      return;
    }
  }
  entries_ = double(total);
  for (const int below : count) operations_ += double(below) * below;
}

bool SparseCholesky::factor(const double* values) {
  if (entries_ > most_entries) throw std::length_error("there are too many entries of a sparse factor");
  std::vector<double> ordered(upper_from_.size());
  for (size_t k = 0; k < ordered.size(); ++k) ordered[k] = values[upper_from_[k]];
  const Matrix upper =
      Eigen::Map<const Matrix>(n_, n_, pattern_.entries(), upper_start_.data(), upper_row_.data(), ordered.data());
  if (!solver_) {
    solver_ = std::make_unique<Solver>();
    solver_->analyzePattern(upper);
  }
  solver_->factorize(upper);
  const Matrix& lower = solver_->lower();
  start_ = lower.outerIndexPtr(), row_ = lower.innerIndexPtr(), value_ = lower.valuePtr();
  return solver_->info() == Eigen::Success && std::isfinite(logdet());
}

double SparseCholesky::logdet() const {
  double sum = 0;
  for (int j = 0; j < n_; ++j) sum += 2 * std::log(value_[start_[j]]);
  return sum;
}

void SparseCholesky::solve_column(double* x, double* workspace, Half half) const {
  if (half != Half::second) {
    for (int j = 0; j < n_; ++j) workspace[position_[size_t(j)]] = x[j];
    for (int j = 0; j < n_; ++j) {
      const double solved = workspace[j] /= value_[start_[j]];
      for (int k = start_[j] + 1; k < start_[j + 1]; ++k) workspace[row_[k]] -= value_[k] * solved;
    }
  } else {
    std::copy_n(x, n_, workspace);
  }
  if (half == Half::first) {
    std::copy_n(workspace, n_, x);
    return;
  }
  for (int j = n_; j-- > 0;) {
    double sum = workspace[j];
    for (int k = start_[j] + 1; k < start_[j + 1]; ++k) sum -= value_[k] * workspace[row_[k]];
    workspace[j] = sum / value_[start_[j]];
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

// From the last column to the first (Takahashi et al. 1973), by supernodes: columns J whose entries below their
// triangle are in the same rows R. The inverse Z is -Z[R, R] Y in (R, J), with Y = L[R, J] L[J, J]^-1, and Z has all
// pairs of R in its pattern.
std::vector<double> SparseCholesky::inverse() const {
  std::vector<double> z(size_t(start_[n_]));
  std::vector<int> slot(size_t(n_), 0);  // of the rows R, from 1; 0 for other rows
  for (int end = n_; end > 0;) {
    int first = end - 1;
    while (first > 0 && below(first - 1) == below(first) + 1 && row_[start_[first - 1] + 1] == first) --first;
    invert_columns(first, end, slot, z);
    end = first;
  }
  return z;
}

void SparseCholesky::invert_columns(int first, int end, std::vector<int>& slot, std::vector<double>& z) const {
  const int size = end - first, length = below(end - 1);
  const int* const rows = row_ + start_[end - 1] + 1;
  Eigen::MatrixXd triangle = Eigen::MatrixXd::Zero(size, size), left(length, size);
  for (int k = 0; k < size; ++k) {
    const double* const column = value_ + start_[first + k];
    for (int i = k; i < size; ++i) triangle(i, k) = column[i - k];
    for (int r = 0; r < length; ++r) left(r, k) = column[size - k + r];
  }
  Eigen::MatrixXd within(length, length);  // Z[R, R]
  for (int r = 0; r < length; ++r) slot[size_t(rows[r])] = r + 1;
  for (int r = 0; r < length; ++r)
    for (int e = start_[rows[r]]; e < start_[rows[r] + 1]; ++e)
      if (const int to = slot[size_t(row_[e])]) within(to - 1, r) = z[size_t(e)];
  for (int r = 0; r < length; ++r) slot[size_t(rows[r])] = 0;
  Eigen::MatrixXd across = left;
  if (length > 0) {  // Eigen's products of empty matrices divide by 0
    triangle.triangularView<Eigen::Lower>().solveInPlace<Eigen::OnTheRight>(left);
    across = -(within.selfadjointView<Eigen::Lower>() * left);
  }
  const Eigen::MatrixXd root = triangle.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(size, size));
  Eigen::MatrixXd block = root.transpose() * root;
  if (length > 0) block -= left.transpose() * across;
  for (int k = 0; k < size; ++k) {
    double* const column = z.data() + start_[first + k];
    for (int i = k; i < size; ++i) column[i - k] = block(i, k);
    for (int r = 0; r < length; ++r) column[size - k + r] = across(r, k);
  }
}

void SparseCholesky::invert(double* values) const {
  const std::vector<double> z = inverse();
  const LowerTriangle factor{n_, start_, row_};
  for (int j = 0; j < n_; ++j)
    for (int k = own_start_[size_t(j)]; k < own_start_[size_t(j) + 1]; ++k)
      values[k] = z[size_t(factor.place(position_[size_t(own_row_[size_t(k)])], position_[size_t(j)]))];
}

double SparseCholesky::Rows::variance(size_t i) const {
  const double pivot = of.value_[of.start_[size_t(of.n_) - 1 - i]];
  return 1 / (pivot * pivot);
}

double SparseCholesky::Rows::scale(size_t i, double value) const {
  return value / of.value_[of.start_[size_t(of.n_) - 1 - i]];
}

void SparseCholesky::sums(const PointSets& sets, const double* weights, const Settings& settings, double* to) const {
  std::vector<int> at(size_t(sets.count * sets.m));
  for (size_t k = 0; k < at.size(); ++k) at[k] = sets.at[k] > 0 ? int(reversed(sets.at[k] - 1)) + 1 : 0;
  const PointSets reversed{at.data(), sets.count, sets.m};
  variances_of_all_sums(Rows{*this}, n_, reversed, weights, alike_together(reversed, settings), settings, to, nullptr);
}

}  // namespace kernops::neighbours
