// The destination of a result: numbers of R, or a gpu_matrix that stays on its device; and the location from which an
// argument is read.
#pragma once
#include "gpu_matrix.h"

namespace kernops {

// Throws InputError if a result is to stay on a device, but the backend has none.
void check_stays(bool stays, const Backend& backend);

class Result {
 public:
  // Results on a device may be floats; numbers of R are doubles. `into` is a gpu_matrix that receives them, or NULL.
  Result(bool on_device, int device, Count rows, Count columns, bool single = false, SEXP into = R_NilValue);
  Output output() const;  // column by column
  void fill(double value);
  void keep_rows(Count rows);  // keeps the first rows of a single column
  SEXP give(bool stays);       // the R object: a gpu_matrix or numbers

 private:
  Count rows_;
  std::unique_ptr<cuda::Matrix> made_;
  cuda::Matrix* matrix_ = nullptr;
  Rcpp::RObject into_;
  Rcpp::NumericVector numbers_;
};

// An argument besides the data that determine the backend: doubles in the backend's memory, copied if necessary.
class Operand {
 public:
  Operand(SEXP x, const Backend& backend, int device);
  SEXP values() const { return values_; }

 private:
  Rcpp::RObject values_;
};

}  // namespace kernops
