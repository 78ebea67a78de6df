#include "result.h"

namespace kernops {
void check_stays(bool stays, const Backend& backend) {
  if (stays && !backend.holds(MemorySpace::device_double))
    throw InputError("input", "`output = \"gpu\"` requires a GPU matrix or the backend \"cuda\".");
}

namespace {

// The matrix that the user gave for the results; checks its device, shape and type.
cuda::Matrix& target(SEXP into, int device, Count rows, Count columns, bool single) {
  cuda::Matrix& matrix = gpu_matrix(into);
  check_size(matrix, rows, columns);
  if (matrix.single() != single)
    throw InputError("input", std::string("`output` must be a gpu_matrix in ") + (single ? "float32" : "float64") +
                                  ", not in " + (matrix.single() ? "float32" : "float64") + ".");
  if (matrix.device != device)
    throw InputError("input", "`output` must be a gpu_matrix on GPU " + std::to_string(device) + ", not on GPU " +
                                  std::to_string(matrix.device) + ".");
  return matrix;
}

}  // namespace

Result::Result(bool on_device, int device, Count rows, Count columns, bool single, SEXP into)
    : rows_(rows), into_(into) {
  if (!Rf_isNull(into)) {
    matrix_ = &target(into, device, rows, columns, single);
  } else if (on_device) {
    made_ = std::make_unique<cuda::Matrix>(rows, columns, single, device);
    matrix_ = made_.get();
  } else {
    numbers_ = new_numbers(double(rows) * double(columns));
  }
}

Output Result::output() const {
  if (!matrix_) return {const_cast<double*>(numbers_.begin()), rows_, 1};
  return {matrix_->doubles(), rows_, 1, matrix_->space, matrix_->device};
}

void Result::fill(double value) { std::fill(numbers_.begin(), numbers_.end(), value); }

void Result::keep_rows(Count rows) {
  if (!matrix_) {
    numbers_ = allocate(8.0 * double(rows), [&] { return Rf_xlengthgets(numbers_, R_xlen_t(rows)); });
    return;
  }
  matrix_->rows = rows;
  if (2 * rows >= rows_) return;  // if few rows are kept, copying these rows frees the memory of all others
  auto exact = std::make_unique<cuda::Matrix>(rows, 1, matrix_->single(), matrix_->device);
  cuda::copy_across(exact->memory.pointer(), exact->device, matrix_->memory.pointer(), matrix_->device, exact->bytes());
  made_ = std::move(exact), matrix_ = made_.get();
}

SEXP Result::give(bool stays) {
  if (!matrix_) return numbers_;
  if (!made_) return into_;
  if (stays) return wrap_gpu_matrix(std::move(made_));
  const Rcpp::NumericVector numbers = new_numbers(double(matrix_->length()));
  matrix_->copy_to(const_cast<double*>(numbers.begin()));
  return numbers;
}

Operand::Operand(SEXP x, const Backend& backend, int device) : values_(x) {
  if (!is_gpu_matrix(x)) return;
  const bool reads = backend.holds(MemorySpace::device_double) && !gpu_matrix(x).single();
  if (!reads || gpu_matrix(x).device != device) values_ = gpu_download(x);
}

}  // namespace kernops
