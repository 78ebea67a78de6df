// The Cholesky factor of a sparse positive definite matrix S: P S P' = L L', with the fill-reducing ordering P of
// Eigen. S is given by the lower triangle of its columns: row[start[j]] .. row[start[j + 1] - 1] are the rows of column
// j, ascending from j itself.
//
// L is stored and computed by supernodes (Ng and Peyton 1993): columns with nearly the same rows form one dense block
// of these rows, so that its products are those of dense matrices. A block contains zeros if the rows of its columns
// differ.
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
  void check() const;  // throws if a number is out of range, because users supply the arrays
  // The position of entry (i, j), which must exist, among the rows.
  Count place(int i, int j) const;
};

class SparseCholesky {
 public:
  // L in the form that variances_of_sums() reads: rows in the reverse order of elimination.
  struct Rows {
    const SparseCholesky& of;
    static constexpr double nothing = 1e-18;
    double variance(size_t i) const;
    double scale(size_t i, double value) const;
    template <class Each> void each(size_t i, const Each& each) const {
      const size_t last = size_t(of.n_) - 1;
      const Column column = of.column(int(last - i), of.value_);
      for (int k = 1; k < column.length; ++k) each(column.value[k], last - size_t(column.row[k]));
    }
  };

  explicit SparseCholesky(const LowerTriangle& pattern);  // determines P and the number of entries of L

  int size() const { return n_; }
  size_t reversed(int j) const { return size_t(n_ - 1 - position_[size_t(j)]); }  // the row of column j in Rows
  bool factored() const { return !value_.empty(); }
  Count pattern_entries() const { return pattern_.entries(); }
  double entries() const { return entries_; }        // number of entries of L; infinite if L would have too many
  double operations() const { return operations_; }  // multiplications of the factorisation
  // Computes L; returns false if S is not positive definite. `values` are in the order of the pattern. Results do not
  // depend on the number of threads.
  bool factor(const double* values, const Settings& settings);
  double logdet() const;
  // Solves for `columns` columns of n numbers: L^-1 P x, P' L'^-1 x, or S^-1 x.
  enum class Half { first, second, both };
  void solve(double* x, Count columns, Half half, const Settings& settings) const;
  void multiply(double* x) const;  // Replaces x by P' L x.
  // The entries of S^-1 in the pattern of S.
  void invert(double* values, const Settings& settings) const;
  // The variances of weighted sums of N(0, S^-1), like Posterior::sum_points().
  void sums(const PointSets& sets, const double* weights, const Settings& settings, double* to) const;

 private:
  using Numbers = std::vector<double>;
  // The diagonal of a column of L and the entries below it.
  struct Column {
    const int* row;
    const double* value;
    int length;
  };
  // Columns first .. end - 1; the rows of their block begin with rows first .. end - 1. `value` is the offset of the
  // block.
  struct Node {
    int first, end, height;
    Count row, value;
    int width() const { return end - first; }
  };
  struct Updates;

  void permute();
  template <class Each> void each_column(int k, std::vector<int>& seen, const Each& each);
  void count_entries();
  void find_nodes();
  void find_rows();
  void find_places();
  const int* rows(const Node& node) const { return row_.data() + node.row; }
  const Node& node_of(int j) const { return nodes_[size_t(node_of_[size_t(j)])]; }
  Column column(int j, const Numbers& values) const {
    const Node& node = node_of(j);
    const int k = j - node.first;
    return {rows(node) + k, values.data() + node.value + Count(k) * (node.height + 1), node.height - k};
  }
  void solve_column(double* x, double* workspace, Half half) const;
  Numbers inverse(const Settings& settings) const;  // the entries of (L L')^-1 in the blocks of L
  void invert_node(const Node& node, std::vector<int>& slot, Numbers& z, const Settings& settings) const;

  int n_;
  LowerTriangle pattern_;
  std::vector<int> own_start_, own_row_;  // the arrays that pattern_ points to
  std::vector<int> position_;             // the position of each column in the order of elimination
  // the upper triangle of P S P', and the positions of its entries in S
  std::vector<int> upper_start_, upper_row_, upper_from_;
  // parents of columns in the elimination tree; numbers of entries of columns
  std::vector<int> parent_, count_;
  std::vector<Node> nodes_;
  std::vector<int> node_of_, row_;  // the node of each column; the rows of the nodes
  std::vector<Count> place_;        // the positions of the entries of S in the blocks
  Numbers value_;
  double entries_ = 0, operations_ = 0;
};

}  // namespace kernops::neighbours
