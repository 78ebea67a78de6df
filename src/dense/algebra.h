// The dense linear algebra of a backend: operations on blocks of vectors for iterative solvers, and covariance matrices
// with their Cholesky factors for exact Gaussian processes. All numbers are doubles.
#pragma once
#include "run/backend_cache.h"
#include "run/pairs.h"

namespace kernops {

namespace neighbours {
struct SparseInverse;
}

// A column-major matrix in the memory of a backend.
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

  // Replaces y by a x + b y, where a and b have a number for each column.
  virtual void axpby(const Numbers& a, const Block& x, const Numbers& b, const Block& y) const = 0;
  // Replaces y by y + d x, where d has a number for each row.
  virtual void add_rows(const Block& d, const Block& x, const Block& y) const = 0;
  // The scalar products of each column of x with the same column of y.
  virtual void dots(const Block& x, const Block& y, double* to) const = 0;
  // Replaces the columns of x at the positions `columns`, counted from 1, by the columns of y.
  virtual void put(const Block& x, const int* columns, const Block& y) const = 0;
  // Computes x' y, and copies it to the host.
  virtual void inner(const Block& x, const Block& y, double* to, const Settings& settings) const = 0;
  // Computes out = x_1 C, where x_1 are the first `terms` columns of x. C is in host memory and has `terms` rows.
  virtual void combine(const Block& x, const double* C, Count terms, const Block& out,
                       const Settings& settings) const = 0;
  // Replaces x by x L^-T for the Cholesky factor L of core + more I, and overwrites core. Returns false if core + more
  // I is not positive definite.
  virtual bool whiten(const Block& x, const Block& core, double more, const Settings& settings) const = 0;
  // Orthogonalises the stacked matrix (q; I) by passes of Cholesky QR. Replaces q by the rows of the orthogonal matrix
  // that take the place of q, and writes the triangular factor to R, in host memory.
  virtual void orthogonal(const Block& q, int passes, double* R, const Settings& settings) const = 0;

  // Computes out = U' U x for a sparse matrix U. `kept` stores the backend's copy of U between calls.
  virtual void sparse_inverse(const neighbours::SparseInverse& inverse, const Block& x, const Block& out,
                              std::shared_ptr<BackendCache>& kept, const Settings& settings) const = 0;

  // The reason why the backend cannot factorise matrices; an empty string if it can.
  virtual std::string problem() const { return {}; }
  // The number of columns to allocate for an n x n covariance matrix.
  virtual Count columns_for(Count n) const { return n; }
  // Writes k(x, y) into the first columns of k, and zeros into the other columns. With `triangle`, y must equal x, and
  // only the lower triangle is written. `kernel` is a formula of the variables theta, x and y, in this order, which
  // stores a value for each pair.
  virtual void covariance(const Kernel& kernel, const ArrayRef& theta, const Block& x, const Block& y, bool triangle,
                          const Block& k, const Settings& settings) const = 0;
  // Adds `diagonal` to the diagonal of k, and replaces the lower triangle of k by its Cholesky factor. Returns 0, or
  // the row, from 1, of the first pivot that is not positive.
  virtual Count factor(const Block& k, const Block& diagonal, const Settings& settings) const = 0;
  virtual Numbers diagonal(const Block& l) const = 0;
  // Replaces b by L^-1 b or, if `transposed`, by L^-T b.
  virtual void solve(const Block& l, bool transposed, const Block& b, const Settings& settings) const = 0;
  // Computes out = L b.
  virtual void times(const Block& l, const Block& b, const Block& out) const = 0;
  // Returns the diagonal of the inverse of L L'; the factor is not changed.
  virtual Numbers diagonal_of_inverse(const Block& l, const Settings& settings) const = 0;
  // Replaces the factor L by a matrix that represents the inverse of L L': its lower triangle on the CPU, L^-1 on the
  // GPU. Only the next three functions read this matrix.
  virtual void invert(const Block& l, const Settings& settings) const = 0;
  virtual Numbers inverse_diagonal(const Block& inverse) const = 0;
  virtual void inverse_times(const Block& inverse, const Block& b, const Block& out) const = 0;
  // Computes the sum over all i, j of W_ij dk(x_i, x_j) / dtheta, where W = (L L')^-1 - left right'. A backend
  // uses one of the two kernels: `stored` stores the derivatives of all pairs, and `weighted` sums them with the
  // weights W_ij.
  virtual Numbers weighted_derivatives(const Kernel& stored, const Kernel& weighted, const ArrayRef& theta,
                                       const Block& x, const Block& inverse, const Block& left, const Block& right,
                                       const Settings& settings) const = 0;
  // The relative rounding error of the entries of a covariance matrix, in machine epsilons.
  virtual double rounding() const { return 1; }
};

}  // namespace kernops
