// Cholesky factors of large matrices on the GPU, and other operations with triangular matrices.
#pragma once
#include "cuda/solver.h"

namespace kernops {
namespace cuda {

// An n x n matrix of doubles in column-major order, with columns `stride` doubles apart; only the lower (or the upper)
// triangle is accessed.
struct Triangle {
  double* at;
  Count n, stride;
  bool upper = false;

  Panel panel() const { return {at, n, n, stride}; }
};

// Replaces a matrix by its Cholesky factor L. Returns 0 on success, and otherwise the row number (from 1) of the first
// pivot that is not positive.
Count factor(const Triangle& a);
// Replaces L by its inverse.
void invert(const Triangle& l);
// Replaces the n x columns matrix b by L^-1 b or, if `transposed`, by L^-T b.
void solve(const Triangle& l, bool transposed, double* b, Count columns);
// Replaces the rows x n matrix b by b L^-T.
void solve_right(const Triangle& l, double* b, Count rows);
// Computes out = L x or, if `transposed`, out = L' x.
void multiply(const Triangle& l, bool transposed, const Panel& x, const Panel& out);

// Computes c = a b + scale c for an m x k matrix a and a k x n matrix b. If `transposed`, the argument `a` is the k x m
// transpose of the first factor. All matrices are contiguous.
void product(bool transposed, Count m, Count n, Count k, const double* a, const double* b, double scale, double* c);

}  // namespace cuda
}  // namespace kernops
