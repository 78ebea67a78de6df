// Dense symmetric positive definite matrices in column-major order, for exact Gaussian processes. Only the lower
// triangles are read and written. Operations are in place. Threads share the tiles of a matrix.
#pragma once
#include <cstddef>
#include <functional>

namespace kernops {
namespace dense {

struct Matrix {
  double* at;
  std::ptrdiff_t rows, columns, stride;  // distance between columns
  Matrix block(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) const {
    return {at + i + j * stride, m, n, stride};
  }
};

enum class Side { left, left_transposed, right_transposed };

// Operations on single tiles, compiled for each instruction set.
struct Tiles {
  // replaces c by c - op(a) op(b), where op(x) is x or, if the flag of x is set, the transpose of x
  void (*subtract_product)(Matrix c, Matrix a, bool transpose_a, Matrix b, bool transpose_b);
  // replaces A = L L' by L; returns the position of the first pivot that is not positive, or -1
  std::ptrdiff_t (*factor)(Matrix a);
  // replaces b by L^-1 b, L^-T b or b L^-T
  void (*solve)(Matrix l, Side side, Matrix b);
  // replaces L by its inverse, and entries above the diagonal by zeros
  void (*invert)(Matrix l);
};

extern const Tiles tiles_baseline, tiles_avx2;

struct Context {
  const Tiles& tiles;
  int threads;
  std::function<void()> check;  // called between steps, while no other thread runs; may throw
};

// replaces A = L L' by L; returns -1, or the position of the first pivot that is not positive
std::ptrdiff_t cholesky(const Context& context, Matrix a);
void solve(const Context& context, Matrix l, bool transposed, Matrix b);              // b = L^-1 b or L^-T b
void product(const Context& context, Matrix a, bool transposed, Matrix b, Matrix c);  // c = a b or a' b
void outer_product(const Context& context, Matrix a, Matrix b, Matrix c);             // c = a b'
void inverse(const Context& context, Matrix l);                                       // replaces L by (L L')^-1
// writes the diagonal of (L L')^-1 to `to`; L is not changed
void inverse_diagonal(const Context& context, Matrix l, double* to);

}  // namespace dense
}  // namespace kernops
