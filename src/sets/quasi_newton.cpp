#include "sets/quasi_newton.h"

#include <cmath>

namespace kernops {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr int most_steps = 60, most_halvings = 5;

// Replaces negative and small eigenvalues of h by a small positive number.
MatrixXd positive_definite(const MatrixXd& h) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> e(h);
  const double least = std::max(std::min(1e-3 * e.eigenvalues().cwiseAbs().maxCoeff(), 0.1), 1e-12);
  return e.eigenvectors() * e.eigenvalues().cwiseMax(least).asDiagonal() * e.eigenvectors().transpose();
}

// Returns the entries of a matrix in some rows and columns.
MatrixXd submatrix(const MatrixXd& h, const std::vector<int>& rows, const std::vector<int>& columns) {
  MatrixXd part(rows.size(), columns.size());
  for (size_t r = 0; r < rows.size(); ++r)
    for (size_t c = 0; c < columns.size(); ++c) part(Eigen::Index(r), Eigen::Index(c)) = h(rows[r], columns[c]);
  return part;
}

// Returns the next step, which changes each parameter by at most 1. A parameter that would cross its bound is set to
// the bound, and the other parameters to the optimum of the quadratic model given this value.
VectorXd newton_step(const SearchPoint& from, MatrixXd h, const Bounds& bounds) {
  const int size = int(from.s.size());
  const VectorXd &g = from.gradient, &s = from.s;
  VectorXd move = VectorXd::Zero(size);
  std::vector<bool> held(size);
  double largest = 0;
  for (int k = 0; k < size; ++k) {
    held[k] = (s[k] <= bounds.low[k] && g[k] > 0) || (s[k] >= bounds.high[k] && g[k] < 0);
    if (!held[k]) largest = std::max(largest, h(k, k));
  }
  h.diagonal().array() += 1e-6 * largest + 1e-12;
  for (;;) {
    std::vector<int> free, fixed;
    for (int k = 0; k < size; ++k) (held[k] ? fixed : free).push_back(k);
    if (free.empty()) break;
    VectorXd slope(free.size()), known(fixed.size());
    for (size_t k = 0; k < free.size(); ++k) slope[Eigen::Index(k)] = g[free[k]];
    for (size_t k = 0; k < fixed.size(); ++k) known[Eigen::Index(k)] = move[fixed[k]];
    if (!fixed.empty()) slope += submatrix(h, free, fixed) * known;
    const VectorXd solved = -submatrix(h, free, free).ldlt().solve(slope);
    for (size_t k = 0; k < free.size(); ++k) move[free[k]] = solved[Eigen::Index(k)];
    const VectorXd shorter = move / std::max(1.0, move.cwiseAbs().maxCoeff());
    int first = -1;
    double most = 1;
    for (int k : free) {
      const double room = std::max(std::abs(shorter[k] < 0 ? bounds.low[k] - s[k] : bounds.high[k] - s[k]), 1e-12);
      if (std::abs(shorter[k]) > most * room) first = k, most = std::abs(shorter[k]) / room;
    }
    if (first < 0) return shorter;
    move[first] = shorter[first] < 0 ? bounds.low[first] - s[first] : bounds.high[first] - s[first];
    held[first] = true;
  }
  return move / std::max(1.0, move.cwiseAbs().maxCoeff());
}

void update(MatrixXd& h, const VectorXd& s, const VectorXd& y) {
  const VectorXd hs = h * s;
  if (s.dot(y) <= 1e-6 * s.dot(hs)) return;
  h += y * y.transpose() / s.dot(y) - hs * hs.transpose() / s.dot(hs);
}

// Returns the point after moving long ranges of the covariance to their bounds. A range is moved if the step increases
// the range and the slope is not negligible. With increasing range, the likelihood approaches its limit so slowly that
// a search would take many steps.
VectorXd far_point(const SearchPoint& point, const VectorXd& step, double least_step, const Bounds& bounds) {
  VectorXd s = point.s;
  for (Eigen::Index k = 0; k < s.size(); ++k)
    if (bounds.jumps[k] && step[k] > least_step && point.gradient[k] < -1e-5) s[k] = bounds.high[k];
  return s;
}

}  // namespace

SearchEnd quasi_newton(const SearchTarget& target, const VectorXd& start, const Bounds& bounds, double below) {
  const auto inside = [&](const VectorXd& s) { return s.cwiseMax(bounds.low).cwiseMin(bounds.high); };
  SearchEnd end{target.visit(inside(start))};
  if (!std::isfinite(end.point.value)) return end;
  MatrixXd h = positive_definite(end.point.information);
  bool learnt = false, last_jump = false;
  for (int k = 0; k < most_steps; ++k) {
    const SearchPoint& point = end.point;
    const VectorXd step = newton_step(point, h, bounds);
    const double gain = -point.gradient.dot(step) / 4;
    if (k > 1 && point.value - 40 * gain > below) return end;
    end.converged = gain < target.gain;
    const bool jumps = end.converged ? !last_jump : k % 6 == 3;
    const VectorXd far = jumps ? far_point(point, step, end.converged ? 0 : 0.01, bounds) : point.s;
    last_jump |= end.converged;
    if (far != point.s) {
      SearchPoint trial = target.visit(far);
      if (trial.value < point.value) {
        end.point = std::move(trial), h = positive_definite(end.point.information), learnt = false;
        continue;
      }
    }
    if (end.converged) return end;
    bool better = false;
    for (int half = 0; !better && half < most_halvings; ++half) {
      SearchPoint trial = target.visit(inside(point.s + step * std::ldexp(1, -half)));
      if (!(trial.value < point.value)) continue;
      update(h, trial.s - point.s, trial.gradient - point.gradient);
      end.point = std::move(trial), better = learnt = true;
    }
    if (better) continue;
    if (!learnt) return end;
    // along a curved valley, the updates may approximate the second derivatives badly: the search starts them again
    h = positive_definite(end.point.information), learnt = false;
  }
  return end;
}

}  // namespace kernops
