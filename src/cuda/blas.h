// cuBLAS of the CUDA toolkit. The library is opened at run time, like the driver, and does not require cuSOLVER. All
// calls use the default stream of the current device. Only the first thread may call these functions.
#pragma once
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// A column-major matrix of rows x columns doubles, with columns `stride` doubles apart.
struct Panel {
  double* at;
  Count rows, columns, stride;
  Panel block(Count row, Count column, Count some_rows, Count some_columns) const {
    return {at + row + column * stride, some_rows, some_columns, stride};
  }
};

// The functions have the names of BLAS. Triangles are lower triangles unless `upper` is set.
enum class Side { left, right };
void gemm(double scale, const Panel& a, bool a_transposed, const Panel& b, bool b_transposed, double beta,
          const Panel& c);  // c = scale a b + beta c
// A factor of the product c = a' b: a matrix of k x `columns` 8-bit integers. The distance between columns, `stride`,
// must be a multiple of 16.
struct SmallNumbers {
  const signed char* at;
  Count columns, stride;
};
void gemm(const SmallNumbers& a, const SmallNumbers& b, Count k, int* c);
void syrk(double scale, const Panel& a, double beta, const Panel& c);  // c = scale a a' + beta c, lower triangle only
void trmm(double scale, Side side, const Panel& t, bool upper, bool transposed, const Panel& b, const Panel& c);
void trsm(Side side, const Panel& t, bool upper, bool transposed, const Panel& b);
void copy_panel(const Panel& a, const Panel& to);

bool has_blas();
int blas_release();  // returns the major version, 13 or 12; throws CudaError if cuBLAS cannot be opened

// Throws CudaError if a function of cuBLAS or cuSOLVER returned a status of failure.
void check_status(int status, const char* what, const char* library);

}  // namespace cuda
}  // namespace kernops
