// Triangular factors of large matrices on the GPU.
#pragma once
#include "cuda/solver.h"

namespace kernops {
namespace cuda {

// n x n doubles in column-major order, `stride` apart; only the lower (or the upper) triangle is accessed.
struct Triangle {
  double* at;
  Count n, stride;
  bool upper = false;

  Panel panel() const { return {at, n, n, stride}; }
};

// Replaces a matrix by its Cholesky factor L; returns 0, or the row, from 1, of the first pivot that is not positive.
Count factor(const Triangle& a);
// Replaces L by its inverse.
void invert(const Triangle& l);
// Replaces b, n x columns, by L^-1 b or L^-T b.
void solve(const Triangle& l, bool transposed, double* b, Count columns);
// Replaces b, rows x n, by b L^-T.
void solve_right(const Triangle& l, double* b, Count rows);
// Computes L x or L' x.
void multiply(const Triangle& l, bool transposed, const Panel& x, const Panel& out);

// c = a b + scale c, for an m x k matrix a (or k x m, to be transposed) and a k x n matrix b, all contiguous.
void product(bool transposed, Count m, Count n, Count k, const double* a, const double* b, double scale, double* c);

}  // namespace cuda
}  // namespace kernops
