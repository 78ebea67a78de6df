// cuSOLVER of the CUDA toolkit, opened at run time like cuBLAS.
#pragma once
#include "cuda/blas.h"

namespace kernops {
namespace cuda {

// Replaces the lower triangle of the matrix `a` by its Cholesky factor L. Returns 0 on success, and otherwise the row
// number (from 1) of the first pivot that is not positive.
Count cholesky(const Panel& a);

bool has_solver();
std::string solver_version();  // such as "12.0.4"; throws CudaError if cuSOLVER cannot be opened

}  // namespace cuda
}  // namespace kernops
