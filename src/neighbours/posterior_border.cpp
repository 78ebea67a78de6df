// The border of a posterior precision: computations for the coefficients that are observed with every point.
#include <Eigen/Cholesky>
#include <vector>

#include "neighbours/lanes.h"
#include "neighbours/posterior.h"
#include "run/rows.h"

namespace kernops::neighbours {

namespace {

using Matrix = Border::Matrix;

constexpr Count together = 4096;  // maximum number of columns of a part, see by_columns()

// Calls work(first, count, part) for successive parts of `columns` columns.
template <class Work> void by_columns(Count columns, const Settings& settings, const Work& work) {
  const Count parts = ceil_div(columns, together);
  parallel_for(parts, std::max<Count>(1, std::min<Count>(settings.threads, parts)), settings, [&](Count part, Count) {
    work(part * together, std::min(together, columns - part * together), size_t(part));
  });
}

// Returns the sum of product(first, count) over the parts of the columns. The number of parts does not depend on the
// number of threads.
template <class Product> Matrix sum_of_products(Count columns, const Settings& settings, const Product& product) {
  std::vector<Matrix> parts(static_cast<size_t>(ceil_div(columns, together)));
  by_columns(columns, settings, [&](Count first, Count count, size_t part) { parts[part] = product(first, count); });
  for (size_t part = 1; part < parts.size(); ++part) parts[0] += parts[part];
  return parts[0];
}

// Products of the columns a of a matrix with `rows` rows. A `Number` is a double or a pack of lanes; each lane has the
// digits of a product of doubles, because sums have the same order.
template <class Number> void add_multiple(Number factor, const double* a, Count rows, Number* to) {
  for (Count k = 0; k < rows; ++k) to[k] += a[k] * factor;
}
template <class Number> Number inner_product(const double* a, const Number* b, Count rows) {
  Number sum[4] = {constant<Number>(0), constant<Number>(0), constant<Number>(0), constant<Number>(0)};
  Count k = 0;
  for (; k + 4 <= rows; k += 4)
    for (Count s = 0; s < 4; ++s) sum[s] += a[k + s] * b[k + s];
  for (; k < rows; ++k) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Returns the sum of factor(i) times column i. factor(i) is called once for each column.
template <class Number, class Factor>
std::vector<Number> sum_of_columns(const Matrix& columns, const Settings& settings, const Factor& factor) {
  const std::vector<Number> none(size_t(columns.rows()), constant<Number>(0));
  std::vector<std::vector<Number>> parts(static_cast<size_t>(ceil_div(columns.cols(), together)), none);
  by_columns(columns.cols(), settings, [&](Count first, Count count, size_t part) {
    for (Count i = first; i < first + count; ++i)
      add_multiple<Number>(factor(i), columns.col(i).data(), columns.rows(), parts[part].data());
  });
  for (size_t part = 1; part < parts.size(); ++part)
    for (size_t k = 0; k < none.size(); ++k) parts[0][k] += parts[part][k];
  return parts[0];
}

}  // namespace

size_t Posterior::inner(size_t point) const {
  const size_t effects = effect_position_.size();
  return point < effects ? size_t(effect_position_[point]) : point - size_t(border_.width);
}

// Places the effects of the border after all points.
void Posterior::place_effects(const std::vector<int>& dense) {
  border_.width = Count(dense.size());
  effect_position_.resize(size_t(effects_.count) + dense.size());
  size_t k = 0;
  for (size_t e = 0; e < effect_position_.size(); ++e)
    effect_position_[e] = k < dense.size() && dense[k] == int(e) ? int(n_) + int(k++) : int(e - k);
}

void Posterior::observe_border(const Observations& observed) {
  const Count d = border_.width;
  if (!d) return;
  border_.across.setZero(d, n_), border_.within.setIdentity(d, d);
  Matrix block(d, together), scaled(d, together);
  for (Count first = 0; first < observed.count; first += together) {
    const Count count = std::min(together, observed.count - first);
    for (Count i = 0; i < count; ++i) {
      const int* const column = observed.column + (first + i) * observed.each;
      const double* const value = observed.value + (first + i) * observed.each;
      const double share = observed.share[first + i];
      for (Count a = 0; a < observed.each; ++a)
        if (const Count k = Count(inner(size_t(column[a] - 1))); k >= n_) block(k - n_, i) = value[a];
      scaled.col(i) = share * block.col(i);
      border_.across.col(effects_.count + observed.point[first + i] - 1) += scaled.col(i);
      for (Count a = 0; a < observed.each; ++a)
        if (const Count k = Count(inner(size_t(column[a] - 1))); k < n_)
          border_.across.col(k) += value[a] * scaled.col(i);
    }
    border_.within.noalias() += block.leftCols(count) * scaled.leftCols(count).transpose();
  }
}

// Factorises the border; returns false if the whole matrix is not positive definite.
bool Posterior::factor_border(const Settings& settings) {
  if (!border_.width) return true;
  Matrix& x = border_.factor = border_.across;
  const auto subtract_later = [&](Count i) {
    for (Count t = later_points(i); t < later_start_[size_t(i + 1)]; ++t)
      x.col(i) -= later_factor_[size_t(t)] * x.col(later_[size_t(t)]);
  };
  rows_in_order(n_ - head_, settings, [&](Count number, Count, const auto& after) {
    const Count i = n_ - 1 - number;
    wait_for_later(i, after);
    subtract_later(i);
  });
  each_row(head_, 16, settings, [&](Count e, Count) { subtract_later(e); });
  solve_head(x, SparseCholesky::Half::first, settings);
  const Matrix left = sum_of_products(n_, settings, [&](Count first, Count count) -> Matrix {
    Matrix scaled = x.middleCols(first, count);
    for (Count i = std::max(first, head_); i < first + count; ++i) scaled.col(i - first) /= pivot_[size_t(i)];
    return scaled * x.middleCols(first, count).transpose();
  });
  const Eigen::LLT<Matrix> root(border_.within - left);
  border_.root = root.matrixL();
  return root.info() == Eigen::Success && border_.root.allFinite();
}

// Solves with one half, L or L', of the head's sparse factor for the columns of x that belong to the head.
void Posterior::solve_head(Matrix& x, SparseCholesky::Half half, const Settings& settings) const {
  if (!head_) return;
  Matrix head = x.leftCols(head_).transpose();
  within_->solve(head.data(), x.rows(), half, settings);
  x.leftCols(head_) = head.transpose();
}

// Computes the rows of the border in the inverse of the whole matrix. Their entries for the points are -(C C')^-1 X'
// L^-1, with the notation of neighbours/border.h. The function also adds the border's contribution to the entries of
// the inverse that belong to the head.
void Posterior::invert_border(const Settings& settings) {
  if (!border_.width) return;
  Matrix& k = border_.inverse = -border_.factor;
  by_columns(n_, settings, [&](Count first, Count count, size_t) { border_.solve_root(k.middleCols(first, count)); });
  solve_head(k, SparseCholesky::Half::second, settings);
  rows_in_order(n_, settings, [&](Count i, Count, const auto& after) {
    if (i < head_) return;
    wait_for_earlier(i, after);
    for (Count e = start_[size_t(i)]; e < start_[size_t(i + 1)]; ++e)
      k.col(i) -= factor_[size_t(e)] * k.col(column_[size_t(e)]);
    k.col(i) /= pivot_[size_t(i)];
  });
  each_row(head_, 256, settings, [&](Count i, Count) {
    inverse_diagonal_[size_t(i)] += k.col(i).squaredNorm();
    for (Count e = start_[size_t(i)]; e < start_[size_t(i + 1)]; ++e)
      inverse_[size_t(e)] += k.col(i).dot(k.col(column_[size_t(e)]));
  });
  by_columns(n_, settings, [&](Count first, Count count, size_t) {
    border_.root.triangularView<Eigen::Lower>().transpose().solveInPlace(k.middleCols(first, count));
  });
}

// Adds the contribution of the border to the sums of row i in Posterior::invert(). Returns the border's contribution to
// the variance of point i.
double Posterior::invert_row_beside(Count i, double* sum) const {
  if (!border_.width) return 0;
  const Eigen::VectorXd share = border_.factor.col(i) / pivot_[size_t(i)];
  for (Count e = start_[size_t(i)]; e < start_[size_t(i + 1)]; ++e)
    *sum++ += share.dot(border_.inverse.col(column_[size_t(e)]));
  return -share.dot(border_.inverse.col(i));
}

template <class Number> void Posterior::add_border(const Number* x, Number* y, const Settings& settings) const {
  const Count width = border_.width;
  if (!width) return;
  const std::vector<Number> from_points = sum_of_columns<Number>(border_.across, settings, [&](Count i) {
    y[i] += inner_product(border_.across.col(i).data(), x + n_, width);
    return x[i];
  });
  for (Count k = 0; k < width; ++k)
    y[n_ + k] = from_points[size_t(k)] + inner_product(border_.within.col(k).data(), x + n_, width);
}

// The step of the preconditioner for the border. On entry, the elements of x for the points are L^-1 r. The function
// computes the solution for the border from them, and then subtracts the border's contribution from them.
template <class Number>
void Posterior::precondition_border(const Number* r, Number* x, const Settings& settings) const {
  const Count width = border_.width;
  if (!width) return;
  const Matrix &factor = border_.factor, &root = border_.root;
  const std::vector<Number> from_points = sum_of_columns<Number>(
      factor, settings, [&](Count i) -> Number { return i < head_ ? x[i] : Number(x[i] / pivot_[size_t(i)]); });
  Number* const border = x + n_;
  for (Count k = 0; k < width; ++k) border[k] = r[n_ + k] - from_points[size_t(k)];
  for (Count k = 0; k < width; ++k) {
    border[k] /= root(k, k);
    add_multiple<Number>(-border[k], root.col(k).data() + k + 1, width - k - 1, border + k + 1);
  }
  for (Count k = width; k-- > 0;)
    border[k] = (border[k] - inner_product(root.col(k).data() + k + 1, border + k + 1, width - k - 1)) / root(k, k);
  each_row(n_, together, settings, [&](Count i, Count) { x[i] -= inner_product(factor.col(i).data(), border, width); });
}

template void Posterior::add_border(const double*, double*, const Settings&) const;
template void Posterior::add_border(const Lanes*, Lanes*, const Settings&) const;
template void Posterior::precondition_border(const double*, double*, const Settings&) const;
template void Posterior::precondition_border(const Lanes*, Lanes*, const Settings&) const;

// Computes the elements of L x for the border. `z` has the elements of x for the points, scaled like the columns of L.
void Posterior::multiply_by_border(const Numbers& z, double* x) const {
  if (!border_.width) return;
  Eigen::VectorXd scaled = Eigen::Map<const Eigen::VectorXd>(z.data(), n_);
  for (Count i = head_; i < n_; ++i) scaled[i] /= pivot_[size_t(i)];
  Eigen::Map<Eigen::VectorXd> border(x + n_, border_.width);
  border = border_.root * Eigen::VectorXd(border) + border_.factor * scaled;
}

double Posterior::logdet_border() const { return border_.width ? 2 * border_.root.diagonal().array().log().sum() : 0; }

// Returns the variance of the value of point `point`, counted from 0, plus the sum of value[k] times effect column[k],
// counted from 1.
double Posterior::variance_of_sum(Count point, const int* column, const double* value, Count each) const {
  double sum = inverse_diagonal_[size_t(point)];
  Eigen::VectorXd dense = Eigen::VectorXd::Zero(border_.width), along = dense;
  if (border_.width) along = border_.inverse.col(point);
  for (Count a = 0; a < each; ++a) {
    const Count i = Count(inner(size_t(column[a] - 1)));
    if (i >= n_) {
      dense[i - n_] += value[a];
      continue;
    }
    if (border_.width) along += value[a] * border_.inverse.col(i);
    double covariances = 2 * covariance(point, int(i));
    for (Count b = 0; b < each; ++b)
      if (const Count j = Count(inner(size_t(column[b] - 1))); j < n_) covariances += value[b] * covariance(i, int(j));
    sum += value[a] * covariances;
  }
  if (!border_.width) return sum;
  sum += 2 * dense.dot(along);
  border_.solve_root(dense);
  return sum + dense.squaredNorm();
}

}  // namespace kernops::neighbours
