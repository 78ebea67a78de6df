// The posterior precision of a field: Q + D, where Q = U' U is the precision of its Vecchia approximation and D the
// diagonal precision of what is known of its values. Its Cholesky factor, from the last point to the first, is nearly
// as sparse as Q: it is computed without fill-in (Schaefer, Katzfuss and Owhadi 2021, section 4; Zilber and Katzfuss
// 2021).
#pragma once
#include <cstdint>
#include <vector>

#include "run/backend.h"

namespace kernops::neighbours {

// Sets of points: m of each, from 1; 0 for none.
struct PointSets {
  const int* at;
  Count count;
  int m;
};

class Posterior {
 public:
  using Numbers = std::vector<double>;
  // Sums whose variances are found together, and what a thread needs for them: zeros, as it leaves them.
  static constexpr int lanes = 8;
  struct Scratch {
    Numbers value;
    std::vector<uint64_t> reached;
  };
  // Of each point and its neighbours.
  explicit Posterior(const PointSets& neighbours);

  Count points() const { return n_; }
  int neighbours() const { return m_; }
  void fill(const double* weights, const double* sd);  // Q
  // Q + D = L L': -1, or the first point whose pivot is not positive.
  Count factor(const double* diagonal);
  double logdet() const;
  // x becomes (Q + D)^-1 b, from x as it is, by conjugate gradients with the latest factor: the number of steps.
  int solve(const double* diagonal, const double* b, double* x, double tol, int most) const;
  // The derivative of logdet() with respect to the entries of Q + D: its inverse, where the factor is exact.
  void invert();
  const Numbers& variances() const { return inverse_diagonal_; }
  Scratch scratch() const { return {Numbers(size_t(n_ * lanes)), std::vector<uint64_t>(size_t(n_ + 63) / 64)}; }
  // Those of weighted sums of the points of sets, by the factor: of so many of them, at most `lanes`.
  void variances_of_sums(const PointSets& sets, const double* weights, const Count* which, int count, Scratch& scratch,
                         double* to) const;
  // sum_s q_s' M q_s / sd_s^2 + log sd_s^2 for the contrasts q_s of points and their neighbours, and
  // M = f f' - (g f' + f g') / 2 + inverse.
  double contrast(const double* weights, const double* sd, const double* f, const double* g) const;

 private:
  // The pairs of a point and its neighbours; the point itself is the last one.
  Count pairs() const { return Count(m_ + 1) * m_ / 2; }
  int member(Count set, int slot) const { return slot < m_ ? at_[size_t(set * m_ + slot)] - 1 : int(set); }
  void find_pattern();
  void times(const double* diagonal, const double* x, double* y) const;
  void precondition(const double* r, double* x) const;

  Count n_;
  int m_;
  std::vector<int> at_, place_;  // of each pair of a set, where it is in the pattern
  std::vector<Count> start_;
  std::vector<int> column_;
  Numbers entry_, diagonal_;  // of Q
  Numbers factor_, pivot_;    // L, columns times pivots
  Numbers inverse_, inverse_diagonal_;
};

}  // namespace kernops::neighbours
