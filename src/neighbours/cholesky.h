// The Cholesky factor of a sparse positive definite matrix S: P S P' = L L', with the fill-reducing ordering P and the
// factorisation of Eigen. S is given by the lower triangle of its columns: row[start[j]] .. row[start[j + 1] - 1] are
// the rows of column j, ascending from j itself.
#pragma once
#include <memory>
#include <vector>

#include "neighbours/reach.h"
#include "run/backend.h"

namespace kernops::neighbours {

// The lower triangle of a symmetric matrix.
struct LowerTriangle {
  int n;
  const int *start, *row;
  Count entries() const { return start[n]; }
  void check() const;  // throws where a number is out of range, as the arrays come from users
  // Where entry (i, j) is among the rows; it has to be there.
  Count place(int i, int j) const;
};

class SparseCholesky {
 public:
  // L as variances_of_sums() reads it, whose rows are in the reverse order of elimination.
  struct Rows {
    const SparseCholesky& of;
    static constexpr double nothing = 1e-18;
    double variance(size_t i) const;
    double scale(size_t i, double value) const;
    template <class Each> void each(size_t i, const Each& each) const {
      const size_t last = size_t(of.n_) - 1, j = last - i;
      for (int k = of.start_[j] + 1; k < of.start_[j + 1]; ++k) each(of.value_[k], last - size_t(of.row_[k]));
    }
  };

  explicit SparseCholesky(const LowerTriangle& pattern);  // finds P and the number of entries of L
  ~SparseCholesky();

  int size() const { return n_; }
  size_t reversed(int j) const { return size_t(n_ - 1 - position_[size_t(j)]); }  // the row of column j in Rows
  bool factored() const { return value_ != nullptr; }
  Count pattern_entries() const { return pattern_.entries(); }
  double entries() const { return entries_; }        // of L; infinite if they are too many for a factor
  double operations() const { return operations_; }  // multiplications of the factorisation
  bool factor(const double* values);                 // whether S is positive definite; values as in the pattern
  double logdet() const;
  // For `columns` of n numbers: L^-1 P x, P' L'^-1 x, or S^-1 x.
  enum class Half { first, second, both };
  void solve(double* x, Count columns, Half half, const Settings& settings) const;
  // The entries of S^-1 in the pattern of S.
  void invert(double* values) const;
  // The variances of weighted sums of N(0, S^-1), as Posterior::sum_points().
  void sums(const PointSets& sets, const double* weights, const Settings& settings, double* to) const;

 private:
  struct Solver;
  void permute();
  void count_entries();
  void solve_column(double* x, double* workspace, Half half) const;
  int below(int j) const { return start_[j + 1] - start_[j] - 1; }  // entries of column j of L below the diagonal
  void invert_columns(int first, int end, std::vector<int>& slot, std::vector<double>& z) const;
  std::vector<double> inverse() const;  // the entries of (L L')^-1 in the pattern of L

  int n_;
  LowerTriangle pattern_;
  std::vector<int> own_start_, own_row_;                   // what pattern_ points to
  std::vector<int> position_;                              // of each column in the order of elimination
  std::vector<int> upper_start_, upper_row_, upper_from_;  // of the upper triangle of P S P', and its entries of S
  std::unique_ptr<Solver> solver_;
  double entries_ = 0, operations_ = 0;
  const int *start_ = nullptr, *row_ = nullptr;  // of the columns of L
  const double* value_ = nullptr;
};

}  // namespace kernops::neighbours
