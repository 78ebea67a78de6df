// The destination of a result: an R vector, or a gpu_matrix that stays on its device. This file also has Operand: an
// argument of a computation, in the memory of the backend.
#pragma once
#include "gpu_matrix.h"

namespace kernops {

// Throws InputError if the result is to stay on a device, but the backend has no device.
void check_stays(bool stays, const Backend& backend);

class Result {
 public:
  // Results on a device may be floats; R vectors are doubles. `into` is a gpu_matrix that receives the results, or
  // NULL.
  Result(bool on_device, int device, Count rows, Count columns, bool single = false, SEXP into = R_NilValue);
  Output output() const;  // column-major
  void fill(double value);
  void keep_rows(Count rows);  // keeps the first rows of a single column
  SEXP give(bool stays);       // returns the R object: a gpu_matrix or a vector

 private:
  Count rows_;
  std::unique_ptr<cuda::Matrix> made_;
  cuda::Matrix* matrix_ = nullptr;
  Rcpp::RObject into_;
  Rcpp::NumericVector numbers_;
};

// An argument that does not determine the backend: doubles in the memory of the backend, copied if necessary.
class Operand {
 public:
  Operand(SEXP x, const Backend& backend, int device);
  SEXP values() const { return values_; }

 private:
  Rcpp::RObject values_;
};

}  // namespace kernops
