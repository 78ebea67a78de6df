// Triangular factors of large matrices on the GPU.
#pragma once
#include "cuda/solver.h"

namespace kernops {
namespace cuda {

// n x n doubles, column by column, `stride` apart, of which only the lower triangle is read and written, or
// the upper one.
struct Triangle {
  double* at;
  Count n, stride;
  bool upper = false;

  Panel panel() const { return {at, n, n, stride}; }
};

// A matrix becomes its Cholesky factor L: 0, or the row, from 1, of the first pivot that is not positive.
Count factor(const Triangle& a);
// L becomes its inverse.
void invert(const Triangle& l);
// b, n x columns, becomes L^-1 b, or L^-T b.
void solve(const Triangle& l, bool transposed, double* b, Count columns);
// b, rows x n, becomes b L^-T.
void solve_right(const Triangle& l, double* b, Count rows);
// L x, or L' x.
void multiply(const Triangle& l, bool transposed, const Panel& x, const Panel& out);

// c becomes a b + scale c, for an m x k matrix a (or k x m, to be transposed) and k x n b, all without gaps.
void product(bool transposed, Count m, Count n, Count k, const double* a, const double* b, double scale, double* c);

}  // namespace cuda
}  // namespace kernops
