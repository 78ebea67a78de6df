// A matrix that lives on the GPU, as C++ sees it; R holds it by an external pointer of class gpu_matrix.
#pragma once
#include "border.h"
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// rows x columns numbers, column by column. The constructors make its device the current one.
struct Matrix {
  Matrix(Count rows, Count columns, bool single, int device);
  Matrix(const Matrix& other, int device);  // a copy
  Count rows, columns;
  bool single;  // floats, else doubles
  int device;
  Buffer memory;

  Count length() const { return rows * columns; }
  size_t bytes() const { return size_t(length()) * (single ? sizeof(float) : sizeof(double)); }
  double* doubles() const { return static_cast<double*>(memory.address()); }
  MemorySpace space() const { return single ? MemorySpace::device_float : MemorySpace::device_double; }
  void copy_from(const double* numbers);  // column by column
  void copy_to(double* numbers) const;
};

}  // namespace cuda
}  // namespace kernops

bool is_gpu_matrix(SEXP x);
// Its device becomes current; throws InputError where x has lost its memory.
kernops::cuda::Matrix& gpu_matrix(SEXP x);
SEXP wrap_gpu_matrix(std::unique_ptr<kernops::cuda::Matrix> matrix);
void check_size(const kernops::cuda::Matrix& target, kernops::Count rows, kernops::Count columns);
SEXP gpu_upload(Rcpp::NumericMatrix x, bool single, int device);
void read_memory_limit();  // the option kernops.gpu_memory
Rcpp::NumericMatrix gpu_download(SEXP x);
