// Dense linear algebra as a backend offers it: blocks of vectors for iterative solvers, and covariance matrices with
// their Cholesky factors for exact Gaussian processes. All are doubles.
#pragma once
#include "run/backend_cache.h"
#include "run/pairs.h"

namespace kernops {

namespace neighbours {
struct SparseInverse;
}

// A matrix in memory of the backend, column by column.
struct Block {
  double* at;
  Count rows, columns;
  MemorySpace space = MemorySpace::host;
  int device = 0;
  Count length() const { return rows * columns; }
};

class Dense {
 public:
  using Numbers = std::vector<double>;
  virtual ~Dense() = default;

  // y becomes a x + b y, with numbers for each column.
  virtual void axpby(const Numbers& a, const Block& x, const Numbers& b, const Block& y) const = 0;
  // y becomes y + d x, with a number for each row.
  virtual void add_rows(const Block& d, const Block& x, const Block& y) const = 0;
  // The scalar products of columns.
  virtual void dots(const Block& x, const Block& y, double* to) const = 0;
  // Columns of x, by positions from 1, become those of y.
  virtual void put(const Block& x, const int* columns, const Block& y) const = 0;
  // x' y, to the host.
  virtual void inner(const Block& x, const Block& y, double* to, const Settings& settings) const = 0;
  // x C, for as many of the first columns of x as C, of the host, has rows.
  virtual void combine(const Block& x, const double* C, Count terms, const Block& out,
                       const Settings& settings) const = 0;
  // x becomes x L^-T for the Cholesky factor L of core + more I, which is used up; false where there is none.
  virtual bool whiten(const Block& x, const Block& core, double more, const Settings& settings) const = 0;
  // The R (of the host) of the decomposition of (Q; I), and Q becomes what belongs to it: by passes of Cholesky.
  virtual void orthogonal(const Block& q, int passes, double* R, const Settings& settings) const = 0;

  // out becomes U' U x for a sparse U. `kept` is what the backend made of it, for the next time.
  virtual void sparse_inverse(const neighbours::SparseInverse& inverse, const Block& x, const Block& out,
                              std::shared_ptr<BackendCache>& kept, const Settings& settings) const = 0;

  // Why matrices cannot be factorised; empty where they can.
  virtual std::string problem() const { return {}; }
  // Columns that the memory of an n x n covariance matrix has.
  virtual Count columns_for(Count n) const { return n; }
  // k(x, y) into the first columns of k, zeros into the others; where y is x, of a `triangle` the lower one. `kernel`
  // stores the pairs of its variables theta, x and y.
  virtual void covariance(const Kernel& kernel, const ArrayRef& theta, const Block& x, const Block& y, bool triangle,
                          const Block& k, const Settings& settings) const = 0;
  // The lower triangle of k plus a diagonal becomes its factor: 0, or the row, from 1, of the first pivot that is not
  // positive.
  virtual Count factor(const Block& k, const Block& diagonal, const Settings& settings) const = 0;
  virtual Numbers diagonal(const Block& l) const = 0;
  // b becomes L^-1 b, or L^-T b.
  virtual void solve(const Block& l, bool transposed, const Block& b, const Settings& settings) const = 0;
  // L b.
  virtual void times(const Block& l, const Block& b, const Block& out) const = 0;
  // The diagonal of the inverse of the matrix, while its factor stays.
  virtual Numbers diagonal_of_inverse(const Block& l, const Settings& settings) const = 0;
  // A factor becomes what the next three need of the inverse of the matrix.
  virtual void invert(const Block& l, const Settings& settings) const = 0;
  virtual Numbers inverse_diagonal(const Block& inverse) const = 0;
  virtual void inverse_times(const Block& inverse, const Block& b, const Block& out) const = 0;
  // sum_ij W_ij dk(x_i, x_j) / dtheta with W = inverse - left right'. `stored` stores derivatives, `weighted` sums
  // them with weights: each backend takes the one that suits it.
  virtual Numbers weighted_derivatives(const Kernel& stored, const Kernel& weighted, const ArrayRef& theta,
                                       const Block& x, const Block& inverse, const Block& left, const Block& right,
                                       const Settings& settings) const = 0;
  // The rounding error of the entries of a covariance matrix, in machine epsilons.
  virtual double rounding() const { return 1; }
};

}  // namespace kernops
