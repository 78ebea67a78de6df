// The R interface of gpu_matrix(): data that stay on the device.
#include "gpu_matrix.h"

#include <kernops/jobs/matrix.h>

#include <algorithm>
#include <cstdlib>

using namespace kernops;
using cuda::Matrix;

namespace kernops {
namespace cuda {
namespace {

constexpr Count batch = 1 << 20;  // numbers converted at a time

// Calls body(first, count) for one batch of `length` numbers after another.
template <class F> void in_batches(Count length, F body) {
  for (Count first = 0; first < length; first += batch) body(first, std::min(batch, length - first));
}

}  // namespace

Matrix::Matrix(Count rows, Count columns, bool single, int device)
    : rows(rows), columns(columns), single(single), device(device), memory((use_device(device), bytes())) {}

Matrix::Matrix(const Matrix& other, int device) : Matrix(other.rows, other.columns, other.single, device) {
  if (device != other.device) {
    use_device(other.device);
    synchronize();
    use_device(device);
  }
  copy_across(memory.pointer(), device, other.memory.pointer(), other.device, bytes());
  if (device != other.device) synchronize();  // the other matrix may be freed first
}

void Matrix::copy_from(const double* numbers) {
  if (!single) return copy_in(memory.pointer(), numbers, bytes());
  in_batches(length(), [&](Count first, Count count) {
    const std::vector<float> floats(numbers + first, numbers + first + count);
    copy_in(memory.pointer() + size_t(first) * sizeof(float), floats.data(), size_t(count) * sizeof(float));
  });
}

void Matrix::copy_to(double* numbers) const {
  if (!single) return copy_out(numbers, memory.pointer(), bytes());
  in_batches(length(), [&](Count first, Count count) {
    std::vector<float> floats(static_cast<size_t>(count));
    copy_out(floats.data(), memory.pointer() + size_t(first) * sizeof(float), size_t(count) * sizeof(float));
    std::copy(floats.begin(), floats.end(), numbers + first);
  });
}

}  // namespace cuda
}  // namespace kernops

bool is_gpu_matrix(SEXP x) { return TYPEOF(x) == EXTPTRSXP && Rf_inherits(x, "gpu_matrix"); }

Matrix& gpu_matrix(SEXP x) {
  void* address = is_gpu_matrix(x) ? R_ExternalPtrAddr(x) : nullptr;
  if (!address)
    throw InputError("input",
                     "this gpu_matrix is empty: GPU memory is not saved and ends with the R session; create it again "
                     "with gpu_matrix()");
  Matrix& matrix = *static_cast<Matrix*>(address);
  cuda::use_device(matrix.device);
  return matrix;
}

SEXP wrap_gpu_matrix(std::unique_ptr<Matrix> matrix) {
  const Rcpp::Shield<SEXP> pointer(external_pointer(std::move(matrix)));
  allocate(0, [&] { return Rf_setAttrib(pointer, R_ClassSymbol, Rf_mkString("gpu_matrix")); });
  return pointer;
}

void read_memory_limit() {
  const SEXP option = Rf_GetOption1(Rf_install("kernops.gpu_memory"));
  const char* twin = std::getenv("KERNOPS_GPU_MEMORY");
  double bytes = 0;
  if (!Rf_isNull(option))
    bytes = Rf_length(option) == 1 && Rf_isNumeric(option) ? Rf_asReal(option) : -1;
  else if (twin && *twin)
    bytes = R_strtod(twin, nullptr);
  const bool none = Rf_isNull(option) && !(twin && *twin);
  if (!none && !(bytes >= 1))
    throw InputError("input", "the option kernops.gpu_memory must be a positive number of bytes");
  cuda::memory_limit() = bytes < 1e18 ? size_t(bytes) : 0;
}

void check_size(const Matrix& target, Count rows, Count columns) {
  const auto size = [](Count m, Count n) { return std::to_string(m) + " x " + std::to_string(n); };
  if (target.rows == rows && target.columns == columns) return;
  throw InputError("dim", "`output` must be a gpu_matrix of " + size(rows, columns) + " numbers, not of " +
                              size(target.rows, target.columns) + ".");
}

// [[Rcpp::export(rng = false)]]
SEXP gpu_upload(Rcpp::NumericMatrix x, bool single, int device) {
  return guard([&]() -> SEXP {
    read_memory_limit();
    auto matrix = std::make_unique<Matrix>(x.nrow(), x.ncol(), single, device);
    matrix->copy_from(x.begin());
    return wrap_gpu_matrix(std::move(matrix));
  });
}

// The numbers of a matrix of R, written into a matrix of the same size.
// [[Rcpp::export(rng = false)]]
SEXP gpu_fill(SEXP to, Rcpp::NumericMatrix x) {
  return guard([&]() -> SEXP {
    check_size(gpu_matrix(to), x.nrow(), x.ncol());
    gpu_matrix(to).copy_from(x.begin());
    return to;
  });
}

// A copy of the matrix on another device.
// [[Rcpp::export(rng = false)]]
SEXP gpu_move(SEXP x, int device) {
  return guard([&]() -> SEXP { return wrap_gpu_matrix(std::make_unique<Matrix>(gpu_matrix(x), device)); });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix gpu_download(SEXP x) {
  return guard([&] {
    const Matrix& matrix = gpu_matrix(x);
    Rcpp::NumericMatrix out = zeros(int(matrix.rows), int(matrix.columns));
    matrix.copy_to(out.begin());
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List gpu_describe(SEXP x) {
  return guard([&] {
    const Matrix& matrix = gpu_matrix(x);
    return Rcpp::List::create(Rcpp::_["dim"] = Rcpp::IntegerVector::create(matrix.rows, matrix.columns),
                              Rcpp::_["precision"] = matrix.single ? "float32" : "float64",
                              Rcpp::_["bytes"] = double(matrix.bytes()), Rcpp::_["device"] = matrix.device,
                              Rcpp::_["name"] = cuda::current_device().name);
  });
}

// Rows and columns by positions from 1, which must exist; all rows without positions.
// [[Rcpp::export(rng = false)]]
SEXP gpu_gather(SEXP x, Rcpp::Nullable<Rcpp::IntegerVector> chosen_rows, Rcpp::IntegerVector columns) {
  return guard([&]() -> SEXP {
    const Matrix& from = gpu_matrix(x);
    const Rcpp::IntegerVector rows = chosen_rows.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(chosen_rows);
    const Count row_count = chosen_rows.isNull() ? from.rows : rows.size();
    auto out = std::make_unique<Matrix>(row_count, columns.size(), from.single, from.device);
    if (out->length() == 0) return wrap_gpu_matrix(std::move(out));
    const auto upload = [](const cuda::Buffer& to, const Rcpp::IntegerVector& positions) {
      cuda::copy_in(to.pointer(), positions.begin(), size_t(positions.size()) * sizeof(int));
      return static_cast<const int*>(to.address());
    };
    const cuda::Buffer row_memory(size_t(rows.size()) * sizeof(int)),
        column_memory(size_t(columns.size()) * sizeof(int));
    GatherJob job{from.memory.address(),
                  out->memory.address(),
                  chosen_rows.isNull() ? nullptr : upload(row_memory, rows),
                  upload(column_memory, columns),
                  from.rows,
                  out->rows,
                  int(out->columns)};
    void* gather = cuda::function("#include <kernops/cuda/dense/matrix.cuh>\nKERNOPS_MATRIX\n",
                                  from.single ? "kernops_gather_float" : "kernops_gather_double");
    cuda::launch(gather, unsigned(ceil_div(out->rows, 256)), unsigned(std::min<Count>(out->columns, 65535)), 256, &job);
    return wrap_gpu_matrix(std::move(out));
  });
}
