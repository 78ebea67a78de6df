// Operations on tiles for one instruction set. This file is included by cpu/simd/dense_baseline.cpp and
// cpu/simd/dense_avx2.cpp.
#include <kernops/simd/isa.h>
#ifndef KERNOPS_ISA_MISSING
#include "cpu/simd/dense_eigen.h"

#include "dense/dense.h"

namespace kernops {
namespace dense {
inline namespace KERNOPS_ISA {

using Dynamic = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>;
using View = Eigen::Map<Dynamic, 0, Eigen::OuterStride<>>;

View view(Matrix m) { return View(m.at, m.rows, m.columns, Eigen::OuterStride<>(m.stride)); }

void subtract_product(Matrix c, Matrix a, bool transpose_a, Matrix b, bool transpose_b) {
  View C = view(c);
  const View A = view(a), B = view(b);
  if (transpose_a)
    C.noalias() -= A.transpose() * B;
  else if (transpose_b)
    C.noalias() -= A * B.transpose();
  else
    C.noalias() -= A * B;
}

// Factorises a copy of the matrix. The copy is aligned in memory, because the rounding errors of Eigen depend on the
// alignment.
std::ptrdiff_t factor(Matrix a) {
  View A = view(a);
  Dynamic copy = A;
  const std::ptrdiff_t bad = Eigen::internal::llt_inplace<double, Eigen::Lower>::blocked(copy);
  A = copy;
  return bad;
}

void solve(Matrix l, Side side, Matrix b) {
  const View L = view(l);
  View B = view(b);
  const auto lower = L.triangularView<Eigen::Lower>();
  const auto upper = L.transpose().triangularView<Eigen::Upper>();
  if (side == Side::left)
    lower.solveInPlace(B);
  else if (side == Side::left_transposed)
    upper.solveInPlace(B);
  else
    upper.solveInPlace<Eigen::OnTheRight>(B);
}

void invert(Matrix l) {
  Dynamic inverse = Dynamic::Identity(l.rows, l.rows);
  View L = view(l);
  L.triangularView<Eigen::Lower>().solveInPlace(inverse);
  L = inverse;
}

}  // namespace KERNOPS_ISA

const Tiles KERNOPS_JOIN(tiles_, KERNOPS_ISA) = {subtract_product, factor, solve, invert};

}  // namespace dense
}  // namespace kernops
KERNOPS_ISA_END
#endif
