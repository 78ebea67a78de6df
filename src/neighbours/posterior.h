// The posterior precision of a spatial field: Q + D, where Q = U' U is the precision of the field's Vecchia
// approximation, and D is the diagonal precision of the observations. Its Cholesky factor, eliminated from the last
// point to the first, is nearly as sparse as Q, so it is computed without fill-in (Schaefer, Katzfuss and Owhadi 2021,
// section 4; Zilber and Katzfuss 2021).
//
// The first points may represent the coefficients of effects instead of locations. Each other point is observed
// together with some effects, so that D also has entries for pairs of a point and an effect, and for pairs of effects.
// The last `head_` rows that are eliminated are called the head. The head has the effects. If the next points in the
// order are farther apart than the observations of an effect, the head has these points, too. The Schur complement of
// the head has a sparse Cholesky factor without dropped entries. Effects that are observed with every point are the
// border of the matrix, after all points: see neighbours/border.h.
#pragma once
#include <memory>
#include <vector>

#include "neighbours/border.h"
#include "neighbours/cholesky.h"
#include "neighbours/reach.h"
#include "run/backend.h"
#include "run/errors.h"
#include "run/huge_pages.h"

namespace kernops::neighbours {

// The coefficients of conjugate gradients, from which R computes Lanczos' tridiagonal matrix (R/solve_lanczos.R).
struct LanczosRun {
  std::vector<double> step, ratio;
};

// The first `count` points are effects. Point i is observed with the effects column[start[i]] .. column[start[i + 1] -
// 1], in ascending order. The pairs of effects that are observed together are stored as a lower triangle: column j has
// the rows from within_row[within_start[j]] on.
struct ObservedEffects {
  Count count = 0;
  std::vector<int> start, column, within_start, within_row;
};

// Limits of the number of entries for effects, and of the operations of their factor; larger models are rejected.
constexpr double most_effect_entries = 3e7, most_effect_operations = 3e11;

struct TooManyEffects : InputError {
  TooManyEffects() : InputError("input", "the effects of neighbouring observations have too many pairs") {}
};

class Posterior {
 public:
  // The rows of L, as variances_of_sums() reads them. The effects are in the reverse order of their elimination.
  struct Rows {
    const Posterior& of;
    double nothing = 1e-18;  // see variances_of_sums()
    // Returns the row of a point in a user's order. New points follow the points of the posterior in both orders.
    size_t position(size_t point) const { return Count(point) < of.length() ? row(of.inner(point)) : point; }
    double variance(size_t i) const {
      if (i < border()) return 1 / (of.border_.pivot(i) * of.border_.pivot(i));
      return in_head(i) ? head().variance(i - border()) : 1 / of.pivot_[i - border()];
    }
    double scale(size_t i, double value) const {
      if (i < border()) return value / of.border_.pivot(i);
      return in_head(i) ? head().scale(i - border(), value) : value * variance(i);
    }
    template <class Each> void each(size_t i, const Each& each) const {
      if (i < border()) return of.border_.each(i, each);
      const size_t point = i - border();
      if (in_head(i))
        head().each(point, [&](double entry, size_t j) { each(entry, j + border()); });
      else
        for (Count k = of.start_[point]; k < of.start_[point + 1]; ++k)
          each(of.factor_[size_t(k)], row(size_t(of.column_[size_t(k)])));
      const Count column = in_head(i) ? of.head_ - 1 - Count(point) : Count(point);
      for (Count k = 0; k < of.border_.width; ++k) each(of.border_.factor(k, column), of.border_.row(k));
    }

   private:
    size_t border() const { return size_t(of.border_.width); }
    size_t row(size_t i) const {
      return Count(i) < of.n_ ? border() + of.reversed(i) : of.border_.row(Count(i) - of.n_);
    }
    bool in_head(size_t i) const { return Count(i - border()) < of.head_; }
    SparseCholesky::Rows head() const { return {*of.within_}; }
  };

  using Numbers = std::vector<double>;
  // Creates the posterior of points, given the neighbours of each point. The pattern of the factor also contains all
  // pairs of the points of each `wide` set, so that fewer entries are dropped. `dense` has the ascending indices, from
  // 0, of the effects that form the border. Results do not depend on the number of threads.
  Posterior(const PointSets& neighbours, const PointSets& wide, ObservedEffects effects, const std::vector<int>& dense,
            const Settings& settings);

  Count points() const { return n_; }
  Count length() const { return n_ + border_.width; }  // length of vectors, including the border
  // Converts a position in a user's vector, which has all effects before the points, to the position in the vectors of
  // this class.
  size_t inner(size_t point) const;
  Count effects() const { return effects_.count; }
  Count observed() const { return Count(effects_.column.size()); }
  int neighbours() const { return m_; }
  // Sets Q from the rows of U of the points after the effects.
  void fill(const double* weights, const double* sd, const Settings& settings);
  // Sets the off-diagonal entries of D. `across` has the entries of pairs of a point and an effect that is observed
  // with it. `within` has the entries of pairs of effects, in the order of within_row.
  void observe(const double* across, const double* within);
  void observe_border(const Observations& observed);
  const Border& border() const { return border_; }
  Count observed_within() const { return Count(effects_.within_row.size()); }
  // Writes the entries of the inverse for the pairs of effects in within_row.
  void invert_within(double* to) const;
  // Computes the factor L with Q + D = L L'; returns whether all pivots are positive.
  bool factor(const double* diagonal, const Settings& settings);
  double logdet() const;
  // Replaces the starting value x by (Q + D)^-1 b, using conjugate gradients with the factor that was computed last as
  // the preconditioner; returns the number of steps.
  int solve(const double* diagonal, const double* b, double* x, double tol, int most, const Settings& settings,
            LanczosRun* run = nullptr) const;
  // Solves for several columns of b and x, at most `lanes` (neighbours/lanes.h). Each column has its own number of
  // steps. Unless `runs` is null, it has an element for each column.
  void solve_columns(const double* diagonal, const double* b, double* x, Count columns, double tol, int most,
                     const Settings& settings, int* steps, LanczosRun* runs = nullptr) const;
  // For several columns, multiply() computes (Q + D) x, and solve_by_factor() computes (L L')^-1 b for the factor that
  // was computed last.
  void multiply(const double* diagonal, const double* x, double* y, Count columns, const Settings& settings) const;
  void solve_by_factor(const double* b, double* x, Count columns, const Settings& settings) const;
  void multiply_by_factor(double* x, const Settings& settings) const;  // x := L x for the last factor L L'
  // Computes the derivatives of logdet() with respect to the entries of Q + D; these are the entries of the inverse of
  // Q + D if the factor is exact.
  void invert(const Settings& settings);
  const Numbers& variances() const { return inverse_diagonal_; }
  // Returns the variance of the value of point i plus the sum of value[k] times effect column[k] for k < each. Points
  // are counted from 0, effects from 1.
  double variance_of_sum(Count i, const int* column, const double* value, Count each) const;
  Rows rows() const { return {*this}; }  // rows of the factor that was computed last
  // Computes the variances of weighted sums of points, one sum per set, by the factor. If a row contributes less
  // than the share `nothing` to a variance, its earlier rows are not updated. Unless `parts` is null, it has, for each
  // sum, a column with a zero for each point. The function sets these columns such that the inner product of two
  // columns is the covariance of their sums.
  void sum_points(const PointSets& sets, const double* weights, double nothing, const Settings& settings, double* to,
                  double* parts) const;
  // Let q_s be the contrast of point s and its neighbours, and M = f f' - (g f' + f g') / 2 + inverse, where invert()
  // has computed the inverse. Computes the derivatives of the sum over s of q_s' M q_s / sd_s^2 + log sd_s^2 with
  // respect to the weights and to the logarithms of sd.
  void differentiate(const double* f, const double* g, double* by_weights, double* by_sd,
                     const Settings& settings) const;
  // The bytes in use after fill() and factor(). The terms of the sum belong to the entries of the pattern, the
  // neighbours, and the border.
  double bytes() const {
    return 36.0 * double(column_.size()) + 36.0 * double(neighbour_.size()) + 24.0 * double(n_ * border_.width);
  }

 private:
  // A member of the set of a point and its ascending neighbours; the point itself is the last member of the set.
  int member(Count set, int slot) const { return slot < m_ ? neighbour_[size_t(set * m_ + slot)] - 1 : int(set); }
  // Calls each(set, slot) for each set that contains point i, in slot `slot`.
  template <class Each> void each_set(Count i, const Each& each) const {
    each(i, m_);
    for (Count k = Count(set_start_[size_t(i)]); k < Count(set_start_[size_t(i + 1)]); ++k)
      each(set_entry_[size_t(k)] / m_, set_entry_[size_t(k)] % m_);
  }
  // Waits for the rows on which row i depends. `after` comes from rows_in_order(). If rows are processed from the first
  // to the last, use wait_for_earlier(); if they are processed from the last to the first, use wait_for_later().
  template <class After> void wait_for_earlier(Count i, const After& after) const {
    Count k = start_[size_t(i + 1)];
    while (k > start_[size_t(i)] && after(column_[size_t(k - 1)])) --k;
  }
  template <class After> void wait_for_later(Count i, const After& after) const {
    Count t = later_start_[size_t(i)];
    while (t < later_start_[size_t(i + 1)] && after(n_ - 1 - later_[size_t(t)])) ++t;
  }
  // Differentiates the term of one set: writes the contrast of the set to q, and M q to `product`.
  double differentiate_set(Count set, const double* f, const double* g, double* by_weights, double* q,
                           double* product) const;
  // The following functions are defined in neighbours/posterior_pattern.cpp.
  struct Pattern;
  void find_pattern(const PointSets& wide, const Settings& settings);
  std::vector<std::vector<int>> rows_of_sets(const PointSets& wide, const Settings& settings);
  bool are_scattered() const;
  Pattern cheapest_pattern(const std::vector<std::vector<int>>& columns, const Settings& settings) const;
  Pattern pattern_with_head(const std::vector<std::vector<int>>& columns, Count head, const Settings& settings) const;
  void find_rows_of_head(Pattern& pattern, const Settings& settings) const;
  void find_later();
  void find_entries_of_effects();
  void set_entries(const Settings& settings);
  struct OpenRow;
  std::vector<OpenRow> open_rows(const Settings& settings) const;
  // Computes row i of the factor from the rows of later points; returns whether the pivot is positive.
  bool eliminate(Count i, double diagonal, OpenRow& row);
  void invert_head(const Settings& settings);
  // Visits the entries of the head in the order of its sparse factor. Calls diagonal(e) for the diagonal element of row
  // e, and below(at) for an entry at position `at` of the pattern.
  template <class Diagonal, class Below> void each_of_head(const Diagonal& diagonal, const Below& below) const {
    for (Count e = 0; e < head_; ++e) {
      diagonal(e);
      for (Count t = later_start_[size_t(e)]; t < later_points(e); ++t) below(size_t(later_at_[size_t(t)]));
    }
  }
  size_t reversed(size_t i) const { return Count(i) < head_ ? within_->reversed(int(i)) : i; }
  Count later_points(Count i) const { return i < head_ ? later_tail_[size_t(i)] : later_start_[size_t(i)]; }
  Count place_of(Count i, int effect) const;  // position in the pattern
  int first_effect(Count i) const { return effects_.count ? effects_.start[size_t(i)] : 0; }
  // A `Number` is a double, or the numbers of some columns in SIMD lanes: see neighbours/lanes.h.
  template <class Number>
  void times(const double* diagonal, const Number* x, Number* y, const Settings& settings) const;
  template <class Number>
  void iterate(const double* diagonal, const Number* b, Number* x, double tol, int most, const Settings& settings,
               int* steps, LanczosRun* runs) const;
  template <class Number> void add_effects(const Number* x, Number* y) const;
  double covariance(Count i, int effect) const;  // entry of the inverse; 0 outside of the pattern
  // The following functions are defined in neighbours/posterior_border.cpp.
  void place_effects(const std::vector<int>& dense);
  bool factor_border(const Settings& settings);
  void solve_head(Border::Matrix& x, SparseCholesky::Half half, const Settings& settings) const;
  void invert_border(const Settings& settings);
  double invert_row_beside(Count i, double* sum) const;
  template <class Number> void add_border(const Number* x, Number* y, const Settings& settings) const;
  template <class Number> void precondition_border(const Number* r, Number* x, const Settings& settings) const;
  void multiply_by_border(const Numbers& z, double* x) const;
  double logdet_border() const;
  template <class Number> void precondition(const Number* r, Number* x, const Settings& settings) const;

  Count n_;
  int m_;
  ObservedEffects effects_;
  Border border_;
  std::vector<int> effect_position_;              // position of each effect, see inner()
  Count head_ = 0;                                // number of rows of the head
  std::vector<int> effect_place_, within_place_;  // position in the pattern of each entry of effects_
  std::unique_ptr<SparseCholesky> within_;        // the factor of the Schur complement of the head
  LargeVector<int> neighbour_, slot_;             // sorted neighbours of each point; the slot of each in its set
  // The sparse factor U by rows, and by columns as in neighbours/sparse_inverse.h.
  LargeVector<double> weights_, by_column_;
  Numbers precision_, set_start_;
  LargeVector<int> set_entry_;
  // The pattern: the earlier points of each row, the later points of each column, and, for each later point, the
  // position of the entry in its row.
  std::vector<Count> start_, later_start_, later_tail_;  // later_tail_: the first later point that is not in the head
  LargeVector<int> column_, later_, later_at_;
  Numbers diagonal_;               // diagonal of Q
  Numbers across_, within_entry_;  // entries of D, see observe()
  // factor_: for each row, its entries of the Schur complement at the elimination of the row; later_factor_: the same
  // entries by columns, divided by the pivots of their rows
  LargeVector<double> factor_, later_factor_;
  Numbers pivot_;
  // entries of Q + D until invert() replaces them by entries of the inverse; factor() sets them again
  LargeVector<double> inverse_;
  bool has_entries_ = false;
  Numbers inverse_diagonal_;
};

}  // namespace kernops::neighbours
