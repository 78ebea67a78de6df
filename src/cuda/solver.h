// cuBLAS and cuSOLVER of the CUDA toolkit, which are opened at run time as the driver is. Everything is handed to the
// default stream of the current device.
#pragma once
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// rows x columns doubles, column by column, `stride` apart.
struct Panel {
  double* at;
  Count rows, columns, stride;
  Panel block(Count row, Count column, Count some_rows, Count some_columns) const {
    return {at + row + column * stride, some_rows, some_columns, stride};
  }
};

// The lower triangle of a becomes its Cholesky factor L: 0, or the row, from 1, of the first pivot that is not
// positive.
Count cholesky(const Panel& a);

// The names are those of BLAS. Triangles are lower ones, but where `upper` says so.
enum class Side { left, right };
void gemm(double scale, const Panel& a, bool a_transposed, const Panel& b, bool b_transposed, double kept,
          const Panel& c);                                             // c = scale a b + kept c
void syrk(double scale, const Panel& a, double kept, const Panel& c);  // c = scale a a' + kept c, its lower triangle
void trmm(double scale, Side side, const Panel& t, bool upper, bool transposed, const Panel& b, const Panel& c);
void trsm(Side side, const Panel& t, bool upper, bool transposed, const Panel& b);
void copy_panel(const Panel& a, const Panel& to);

bool has_solver();
std::string solver_version();  // "12.0.4" of cuSOLVER; throws CudaError where it cannot be opened

}  // namespace cuda
}  // namespace kernops
