// cuSOLVER of the CUDA toolkit, which is opened at run time beside cuBLAS.
#pragma once
#include "cuda/blas.h"

namespace kernops {
namespace cuda {

// The lower triangle of a becomes its Cholesky factor L: 0, or the row, from 1, of the first pivot that is not
// positive.
Count cholesky(const Panel& a);

bool has_solver();
std::string solver_version();  // "12.0.4"; throws CudaError where it cannot be opened

}  // namespace cuda
}  // namespace kernops
