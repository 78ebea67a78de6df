// A matrix on a GPU as a C++ object, which R holds by an external pointer of class gpu_matrix.
#pragma once
#include "border.h"
#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// A matrix of rows x columns numbers in column-major order on `device`. The constructors make this device current.
struct Matrix {
  Matrix(Count rows, Count columns, MemorySpace space, int device);
  Matrix(Count rows, Count columns, bool single, int device);
  Matrix(const Matrix& other, int device);  // copies the matrix
  Count rows, columns;
  MemorySpace space;
  int device;
  Buffer memory;

  Count length() const { return rows * columns; }
  bool single() const { return space == MemorySpace::device_float; }
  bool sixteen_bits() const { return space == MemorySpace::device_bfloat16 || space == MemorySpace::device_float16; }
  size_t bytes() const { return size_t(length()) * (sixteen_bits() ? 2 : single() ? sizeof(float) : sizeof(double)); }
  double* doubles() const { return static_cast<double*>(memory.address()); }
  void copy_from(const double* numbers);  // in column-major order
  void copy_to(double* numbers) const;
};

// The memory space for a precision that R names, and the name of the precision.
MemorySpace space_of_precision(const std::string& precision);
const char* precision_of(MemorySpace space);

// Returns a copy of the matrix in another precision, on the same device.
std::unique_ptr<Matrix> converted(const Matrix& from, MemorySpace space);

}  // namespace cuda
}  // namespace kernops

bool is_gpu_matrix(SEXP x);
// any_gpu_matrix() returns the matrix of an R object and makes its device current; it throws InputError if the memory
// has been freed. Only formulas can read 16-bit numbers: all other computations call gpu_matrix(), which throws
// InputError for a matrix of 16-bit numbers.
kernops::cuda::Matrix& any_gpu_matrix(SEXP x);
kernops::cuda::Matrix& gpu_matrix(SEXP x);
SEXP wrap_gpu_matrix(std::unique_ptr<kernops::cuda::Matrix> matrix);
void check_size(const kernops::cuda::Matrix& target, kernops::Count rows, kernops::Count columns);
SEXP gpu_upload(Rcpp::NumericMatrix x, std::string precision, int device);
void read_memory_limit();  // reads the option kernops.gpu_memory
Rcpp::NumericMatrix gpu_download(SEXP x);
