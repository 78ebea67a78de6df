// The arguments that R passes for one computation.
#pragma once
#include <memory>

#include "gpu_matrix.h"
#include "ranges.h"

namespace kernops {

const char* category(unsigned axes);  // returns "Vi", "Vj" or "Pm"

// Throws if the parameter v cannot be a matrix of this shape, because the formula reads v as a vector or as a matrix of
// another shape.
void check_matrix(const Variable& v, Count rows, Count columns);

// An argument as doubles, converted from an R vector, matrix or array, or a gpu_matrix, with the numbers of points and
// of batches. The object owns converted data.
struct Input {
  Rcpp::NumericVector values;
  ArrayRef array;
  std::shared_ptr<cuda::Matrix> rounded;  // a gpu_matrix rounded to 16 bits
  Count points;
  Count batches = 1;
  bool batched = false;  // true for an array of three dimensions
};

// All arguments of one computation, checked, and the shape of the result. `inputs` is the number format to which points
// are rounded, "bfloat16" or "float16"; if it is empty, points are not rounded. Parameters are never rounded.
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
  bool batched = false;  // true if the result is an array with batches, even if there is only one batch
  std::unique_ptr<Ranges> some;
  Count points, nrow, ncol, entry, row;
  std::vector<Count> dim;  // shape of the result, without batches
};

// The element `inputs` of the settings that R/settings.R makes: the number format of the points.
std::string inputs_of(const Rcpp::List& settings);

}  // namespace kernops
