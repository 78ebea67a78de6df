// Products of matrices by cuBLAS, which is opened at run time as the driver is, without cuSOLVER.
#pragma once
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

bool has_blas();

// Doubles column by column, so many apart.
struct Operand {
  const double* at;
  Count stride;
};

// c = a b, or c + a b: m x n, over k.
void multiply(Count m, Count n, Count k, const Operand& a, bool a_transposed, const Operand& b, bool adds, double* c,
              Count c_stride);

}  // namespace cuda
}  // namespace kernops
