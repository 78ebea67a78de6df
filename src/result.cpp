#include "result.h"

namespace kernops {
void check_stays(bool stays, const Backend& backend) {
  if (stays && !backend.holds(MemorySpace::device_double))
    throw InputError("input", "`output = \"gpu\"` requires a GPU matrix or the backend \"cuda\".");
}

Result::Result(bool on_device, int device, Count rows, Count columns, bool single) : rows_(rows) {
  if (on_device)
    matrix_ = std::make_unique<cuda::Matrix>(rows, columns, single, device);
  else
    numbers_ = new_numbers(double(rows) * double(columns));
}

Output Result::output() const {
  if (!matrix_) return {const_cast<double*>(numbers_.begin()), rows_, 1};
  return {matrix_->doubles(), rows_, 1, matrix_->space(), matrix_->device};
}

void Result::fill(double value) { std::fill(numbers_.begin(), numbers_.end(), value); }

void Result::keep_rows(Count rows) {
  if (!matrix_) {
    numbers_ = allocate(8.0 * double(rows), [&] { return Rf_xlengthgets(numbers_, R_xlen_t(rows)); });
    return;
  }
  matrix_->rows = rows;
  if (2 * rows >= rows_) return;  // else much would be kept for little
  auto exact = std::make_unique<cuda::Matrix>(rows, 1, matrix_->single, matrix_->device);
  cuda::copy_across(exact->memory.pointer(), exact->device, matrix_->memory.pointer(), matrix_->device, exact->bytes());
  matrix_ = std::move(exact);
}

SEXP Result::give(bool stays) {
  if (!matrix_) return numbers_;
  if (stays) return wrap_gpu_matrix(std::move(matrix_));
  const Rcpp::NumericVector numbers = new_numbers(double(matrix_->length()));
  matrix_->copy_to(const_cast<double*>(numbers.begin()));
  return numbers;
}

Operand::Operand(SEXP x, const Backend& backend, int device) : values_(x) {
  if (!is_gpu_matrix(x)) return;
  const bool reads = backend.holds(MemorySpace::device_double) && !gpu_matrix(x).single;
  if (!reads || gpu_matrix(x).device != device) values_ = gpu_download(x);
}

}  // namespace kernops
