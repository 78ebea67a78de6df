// The arguments of one computation from R.
#pragma once
#include <memory>

#include "gpu_matrix.h"
#include "ranges.h"

namespace kernops {

const char* category(unsigned axes);  // Vi, Vj or Pm

// Throws if the parameter cannot be a matrix of this shape, because the formula reads it as a vector or in another
// shape.
void check_matrix(const Variable& v, Count rows, Count columns);

// An R vector, matrix or array as doubles, or a gpu_matrix, with its points and batches counted. Owns the converted
// data.
struct Input {
  Rcpp::NumericVector values;
  ArrayRef array;
  std::shared_ptr<cuda::Matrix> rounded;  // a gpu_matrix rounded to 16 bits
  Count points;
  Count batches = 1;
  bool batched = false;  // an array of three dimensions
};

// All R arguments of one computation, checked, and the shape of its result. Points are rounded to the numbers of
// `inputs`, "bfloat16" or "float16", unless it is empty; parameters are not.
struct Call {
  Call(const Kernel& kernel, const Rcpp::List& input, const Rcpp::Nullable<Rcpp::List>& ranges, bool points_are_columns,
       const std::string& inputs = "");
  Output target(const cuda::Matrix& out) const {
    return {out.doubles(), entry, row, MemorySpace::device_double, out.device};
  }
  Output target(Rcpp::NumericVector& out) const { return {out.begin(), entry, row, MemorySpace::host, 0, nrow * ncol}; }

  std::vector<Input> inputs;
  Data data;
  Count batches;
  bool batched = false;  // true for an array, even of a single batch
  std::unique_ptr<Ranges> some;
  Count points, nrow, ncol, entry, row;
  std::vector<Count> dim;  // shape of the result, without batches
};

// The precision of the points, from the settings that R/settings.R makes.
std::string inputs_of(const Rcpp::List& settings);

}  // namespace kernops
