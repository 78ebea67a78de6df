// A matrix on the GPU for C++; R holds it by an external pointer of class gpu_matrix.
#pragma once
#include "border.h"
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// rows x columns numbers in column-major order. The constructors make its device current.
struct Matrix {
  Matrix(Count rows, Count columns, bool single, int device);
  Matrix(const Matrix& other, int device);  // a copy
  Count rows, columns;
  bool single;  // floats, otherwise doubles
  int device;
  Buffer memory;

  Count length() const { return rows * columns; }
  size_t bytes() const { return size_t(length()) * (single ? sizeof(float) : sizeof(double)); }
  double* doubles() const { return static_cast<double*>(memory.address()); }
  MemorySpace space() const { return single ? MemorySpace::device_float : MemorySpace::device_double; }
  void copy_from(const double* numbers);  // in column-major order
  void copy_to(double* numbers) const;
};

}  // namespace cuda
}  // namespace kernops

bool is_gpu_matrix(SEXP x);
// Makes its device current; throws InputError if x has lost its memory.
kernops::cuda::Matrix& gpu_matrix(SEXP x);
SEXP wrap_gpu_matrix(std::unique_ptr<kernops::cuda::Matrix> matrix);
void check_size(const kernops::cuda::Matrix& target, kernops::Count rows, kernops::Count columns);
SEXP gpu_upload(Rcpp::NumericMatrix x, bool single, int device);
void read_memory_limit();  // the option kernops.gpu_memory
Rcpp::NumericMatrix gpu_download(SEXP x);
