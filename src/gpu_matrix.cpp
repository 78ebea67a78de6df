// The R interface of gpu_matrix(): data that stay on the device.
#include "gpu_matrix.h"

#include <kernops/jobs/matrix.h>
#include <kernops/sixteen_bits.h>

#include <algorithm>
#include <cstdlib>

using namespace kernops;
using cuda::Matrix;

namespace kernops {
namespace cuda {
namespace {

constexpr Count batch = 1 << 20;  // number of matrix entries that are converted at a time

// Calls body(first, count) for successive batches that cover numbers 0 .. length - 1.
template <class F> void in_batches(Count length, F body) {
  for (Count first = 0; first < length; first += batch) body(first, std::min(batch, length - first));
}

struct Precision {
  const char* name;
  MemorySpace space;
  const char* type;  // the C++ type of the numbers in CUDA texts
};
constexpr Precision precisions[] = {{"float64", MemorySpace::device_double, "double"},
                                    {"float32", MemorySpace::device_float, "float"},
                                    {"bfloat16", MemorySpace::device_bfloat16, "kernops::Bfloat16"},
                                    {"float16", MemorySpace::device_float16, "kernops::Float16"}};

const Precision& precision_at(MemorySpace space) {
  for (const Precision& each : precisions)
    if (each.space == space) return each;
  throw std::logic_error("no GPU matrix has this memory space");
}

// Calls body(number) with a number of the C++ type that the memory space stores.
template <class F> void with_number(MemorySpace space, F body) {
  switch (space) {
    case MemorySpace::device_float: return body(float());
    case MemorySpace::device_bfloat16: return body(Bfloat16());
    case MemorySpace::device_float16: return body(Float16());
    default: return body(double());
  }
}

}  // namespace

MemorySpace space_of_precision(const std::string& precision) {
  for (const Precision& each : precisions)
    if (each.name == precision) return each.space;
  throw std::logic_error("there is no precision " + precision);
}

const char* precision_of(MemorySpace space) { return precision_at(space).name; }

Matrix::Matrix(Count rows, Count columns, MemorySpace space, int device)
    : rows(rows), columns(columns), space(space), device(device), memory((use_device(device), bytes())) {}

Matrix::Matrix(Count rows, Count columns, bool single, int device)
    : Matrix(rows, columns, single ? MemorySpace::device_float : MemorySpace::device_double, device) {}

Matrix::Matrix(const Matrix& other, int device) : Matrix(other.rows, other.columns, other.space, device) {
  if (device != other.device) {
    use_device(other.device);
    synchronize();
    use_device(device);
  }
  copy_across(memory.pointer(), device, other.memory.pointer(), other.device, bytes());
  if (device != other.device) synchronize();  // the copy must end before `other` is freed
}

void Matrix::copy_from(const double* numbers) {
  if (space == MemorySpace::device_double) return copy_in(memory.pointer(), numbers, bytes());
  with_number(space, [&](auto number) {
    using Number = decltype(number);
    std::vector<Number> batch_of_numbers;
    in_batches(length(), [&](Count first, Count count) {
      batch_of_numbers.clear();
      for (Count n = first; n < first + count; ++n) batch_of_numbers.push_back(Number(numbers[n]));
      copy_in(memory.pointer() + size_t(first) * sizeof(Number), batch_of_numbers.data(),
              size_t(count) * sizeof(Number));
    });
  });
}

void Matrix::copy_to(double* numbers) const {
  if (space == MemorySpace::device_double) return copy_out(numbers, memory.pointer(), bytes());
  with_number(space, [&](auto number) {
    using Number = decltype(number);
    in_batches(length(), [&](Count first, Count count) {
      std::vector<Number> some(static_cast<size_t>(count));
      copy_out(some.data(), memory.pointer() + size_t(first) * sizeof(Number), size_t(count) * sizeof(Number));
      for (Count n = 0; n < count; ++n) numbers[first + n] = double(some[size_t(n)]);
    });
  });
}

std::unique_ptr<Matrix> converted(const Matrix& from, MemorySpace space) {
  auto to = std::make_unique<Matrix>(from.rows, from.columns, space, from.device);
  if (to->length() == 0) return to;
  const ConvertJob job{from.memory.address(), to->memory.address(), from.length()};
  const std::string types = std::string(precision_at(from.space).type) + ", " + precision_at(space).type;
  void* convert =
      function("#include <kernops/cuda/dense/matrix.cuh>\nKERNOPS_CONVERT(" + types + ")\n", "kernops_convert");
  launch(convert, unsigned(std::min<Count>(ceil_div(from.length(), 256), 65535)), 1, 256, &job);
  return to;
}

}  // namespace cuda
}  // namespace kernops

bool is_gpu_matrix(SEXP x) { return TYPEOF(x) == EXTPTRSXP && Rf_inherits(x, "gpu_matrix"); }

Matrix& any_gpu_matrix(SEXP x) {
  void* address = is_gpu_matrix(x) ? R_ExternalPtrAddr(x) : nullptr;
  if (!address)
    throw InputError("input",
                     "this gpu_matrix is empty: GPU memory is not saved and ends with the R session; create it again "
                     "with gpu_matrix()");
  Matrix& matrix = *static_cast<Matrix*>(address);
  cuda::use_device(matrix.device);
  return matrix;
}

Matrix& gpu_matrix(SEXP x) {
  Matrix& matrix = any_gpu_matrix(x);
  if (!matrix.sixteen_bits()) return matrix;
  const std::string precision = cuda::precision_of(matrix.space);
  throw InputError("input", "this function takes a gpu_matrix in float64 or float32, not in " + precision +
                                ", which only formulas read: convert it with `gpu_matrix(x, \"float32\")`");
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
SEXP gpu_upload(Rcpp::NumericMatrix x, std::string precision, int device) {
  return guard([&]() -> SEXP {
    read_memory_limit();
    auto matrix = std::make_unique<Matrix>(x.nrow(), x.ncol(), cuda::space_of_precision(precision), device);
    matrix->copy_from(x.begin());
    return wrap_gpu_matrix(std::move(matrix));
  });
}

// Copies the numbers of an R matrix into a gpu_matrix of the same size.
// [[Rcpp::export(rng = false)]]
SEXP gpu_fill(SEXP to, Rcpp::NumericMatrix x) {
  return guard([&]() -> SEXP {
    check_size(gpu_matrix(to), x.nrow(), x.ncol());
    gpu_matrix(to).copy_from(x.begin());
    return to;
  });
}

// Copies a gpu_matrix to another device.
// [[Rcpp::export(rng = false)]]
SEXP gpu_move(SEXP x, int device) {
  return guard([&]() -> SEXP { return wrap_gpu_matrix(std::make_unique<Matrix>(any_gpu_matrix(x), device)); });
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix gpu_download(SEXP x) {
  return guard([&] {
    const Matrix& matrix = any_gpu_matrix(x);
    Rcpp::NumericMatrix out = zeros(int(matrix.rows), int(matrix.columns));
    matrix.copy_to(out.begin());
    return out;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::List gpu_describe(SEXP x) {
  return guard([&] {
    const Matrix& matrix = any_gpu_matrix(x);
    return Rcpp::List::create(Rcpp::_["dim"] = Rcpp::IntegerVector::create(matrix.rows, matrix.columns),
                              Rcpp::_["precision"] = cuda::precision_of(matrix.space),
                              Rcpp::_["bytes"] = double(matrix.bytes()), Rcpp::_["device"] = matrix.device,
                              Rcpp::_["name"] = cuda::current_device().name);
  });
}

// Selects rows and columns by positions from 1, which must exist; without `chosen_rows`, all rows are selected.
// [[Rcpp::export(rng = false)]]
SEXP gpu_gather(SEXP x, Rcpp::Nullable<Rcpp::IntegerVector> chosen_rows, Rcpp::IntegerVector columns) {
  return guard([&]() -> SEXP {
    const Matrix& from = any_gpu_matrix(x);
    const Rcpp::IntegerVector rows = chosen_rows.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(chosen_rows);
    const Count row_count = chosen_rows.isNull() ? from.rows : rows.size();
    auto out = std::make_unique<Matrix>(row_count, columns.size(), from.space, from.device);
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
                                  from.sixteen_bits() ? "kernops_gather_sixteen_bits"
                                  : from.single()     ? "kernops_gather_float"
                                                      : "kernops_gather_double");
    cuda::launch(gather, unsigned(ceil_div(out->rows, 256)), unsigned(std::min<Count>(out->columns, 65535)), 256, &job);
    return wrap_gpu_matrix(std::move(out));
  });
}
