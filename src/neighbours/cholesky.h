// The Cholesky factor of a sparse positive definite matrix S: P S P' = L L', with a fill-reducing ordering P that Eigen
// computes. S is given by its lower triangle in compressed columns: column j has the rows row[start[j]] .. row[start[j
// + 1] - 1], in ascending order from j on.
//
// L is stored and computed by supernodes (Ng and Peyton 1993). A supernode has adjacent columns of L that have nearly
// the same rows, and is stored as one dense block, so that products are those of dense matrices. If the rows of the
// columns differ, the block contains zeros.
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
  void check() const;  // throws if an index is out of range, because users supply the arrays
  // Returns the position of entry (i, j) in `row`; the entry must exist.
  Count place(int i, int j) const;
};

class SparseCholesky {
 public:
  // The rows of L in the reverse order of elimination, as variances_of_sums() reads them.
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

  explicit SparseCholesky(const LowerTriangle& pattern);  // computes P and the number of entries of L

  int size() const { return n_; }
  size_t reversed(int j) const { return size_t(n_ - 1 - position_[size_t(j)]); }  // row of Rows for column j of S
  bool factored() const { return !value_.empty(); }
  Count pattern_entries() const { return pattern_.entries(); }
  double entries() const { return entries_; }        // number of entries of L; infinite if L would have too many
  double operations() const { return operations_; }  // number of multiplications of the factorisation
  // Computes L; returns false if S is not positive definite. `values` has the entries of S in the order of the pattern.
  // Results do not depend on the number of threads.
  bool factor(const double* values, const Settings& settings);
  double logdet() const;
  // Computes L^-1 P x (first), P' L'^-1 x (second) or S^-1 x (both) for `columns` columns of n numbers.
  enum class Half { first, second, both };
  void solve(double* x, Count columns, Half half, const Settings& settings) const;
  // Does the same for one `Number` per row: a double, or the numbers of some columns in lanes (neighbours/lanes.h).
  template <class Number> void solve(Number* x, Half half) const;
  void multiply(double* x) const;  // replaces x by P' L x
  // Computes the entries of S^-1 at the positions of the entries of S.
  void invert(double* values, const Settings& settings) const;
  // Computes the variances of weighted sums of a vector with distribution N(0, S^-1), like Posterior::sum_points().
  void sums(const PointSets& sets, const double* weights, const Settings& settings, double* to) const;

 private:
  using Numbers = std::vector<double>;
  // A column of L: its diagonal element, and the entries below.
  struct Column {
    const int* row;
    const double* value;
    int length;
  };
  // A supernode with columns first .. end - 1. Its rows begin with rows first .. end - 1. `value` is the offset of its
  // block among the values.
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
  template <class Number> void solve_column(Number* x, Number* workspace, Half half) const;
  Numbers inverse(const Settings& settings) const;  // the entries of (L L')^-1 in the blocks of L
  void invert_node(const Node& node, std::vector<int>& slot, Numbers& z, const Settings& settings) const;

  int n_;
  LowerTriangle pattern_;
  std::vector<int> own_start_, own_row_;  // the arrays to which pattern_ points
  std::vector<int> position_;             // the position of each column in the order of elimination
  // the upper triangle of P S P', and for each of its entries, the position of the entry in S
  std::vector<int> upper_start_, upper_row_, upper_from_;
  // for each column of L: its parent in the elimination tree, and its number of entries
  std::vector<int> parent_, count_;
  std::vector<Node> nodes_;
  std::vector<int> node_of_, row_;  // the node of each column; the row indices of all nodes
  std::vector<Count> place_;        // for each entry of S, its position in the blocks
  Numbers value_;
  double entries_ = 0, operations_ = 0;
};

}  // namespace kernops::neighbours
