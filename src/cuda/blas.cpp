// Calls of cuBLAS; the signatures are those of the cuBLAS manual.
#include "cuda/blas.h"

#include <map>
#include <mutex>

#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;
constexpr int lower = 0, left = 0, right = 1, general = 0;  // values of cuBLAS enumerators

struct Blas {
  int release;
  Status (*cublasCreate_v2)(void**);
  Status (*cublasDtrsm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, double* b, int ldb);
  Status (*cublasDtrmm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, const double* b, int ldb, double* c, int ldc);
  Status (*cublasDgemm_v2)(void*, int transposed_a, int transposed_b, int m, int n, int k, const double*,
                           const double* a, int lda, const double* b, int ldb, const double*, double* c, int ldc);
  Status (*cublasGemmEx)(void*, int transposed_a, int transposed_b, int m, int n, int k, const void*, const void* a,
                         int type_a, int lda, const void* b, int type_b, int ldb, const void*, void* c, int type_c,
                         int ldc, int computed, int algorithm);
  Status (*cublasDsyrk_v2)(void*, int triangle, int transposed, int n, int k, const double*, const double* a, int lda,
                           const double*, double* c, int ldc);
  Status (*cublasDgeam)(void*, int transposed_a, int transposed_b, int m, int n, const double*, const double* a,
                        int lda, const double*, const double* b, int ldb, double* c, int ldc);
};

Blas open_blas() {
  void* library = nullptr;
  Blas blas{};
  for (const int release : {13, 12}) {
    if (library || (release == 13 && driver_is_old())) continue;
    const std::string version = std::to_string(release);
    open_toolkit_library({"libcublasLt.so." + version});  // must be opened before cuSOLVER and cuBLAS
    library = open_toolkit_library({"libcublas.so." + version});
    blas.release = release;
  }
  if (!library)
    throw CudaError("cuBLAS of the CUDA toolkit was not found (libcublas.so); set CUDA_HOME to the CUDA toolkit");
    // clang-format off
#define FIND(name) find(library, #name, blas.name);
  FIND(cublasCreate_v2) FIND(cublasDtrsm_v2) FIND(cublasDtrmm_v2) FIND(cublasDgemm_v2) FIND(cublasDsyrk_v2)
  FIND(cublasDgeam) FIND(cublasGemmEx)
#undef FIND
      // clang-format on
      return blas;
}

const Blas& blas() {
  static const Blas opened = open_blas();
  return opened;
}

void check(Status status, const char* what) { check_status(status, what, "cuBLAS"); }

// Returns the cuBLAS handle of the current device, which lives as long as the process.
void* handle() {
  static std::map<int, void*> all;
  static std::mutex opening;
  const std::lock_guard<std::mutex> lock(opening);
  void*& here = all[current_device().number];
  if (!here) check(blas().cublasCreate_v2(&here), "opening cuBLAS");
  return here;
}

int side_of(Side side) { return side == Side::left ? left : right; }

}  // namespace

void check_status(int status, const char* what, const char* library) {
  if (status == 0) return;
  // CUBLAS_STATUS_ALLOC_FAILED is 3, and CUSOLVER_STATUS_ALLOC_FAILED is 2
  const bool memory = status == 2 || status == 3;
  const std::string number = "status " + std::to_string(status) + " of " + library;
  throw CudaError(std::string(what) + " on the GPU failed: " + (memory ? "out of memory" : number),
                  memory ? "memory" : "cuda");
}

bool has_blas() {
  static const bool available = opens(blas);
  return available;
}

int blas_release() { return blas().release; }

void gemm(double scale, const Panel& a, bool a_transposed, const Panel& b, bool b_transposed, double beta,
          const Panel& c) {
  const Count k = a_transposed ? a.rows : a.columns;
  check(blas().cublasDgemm_v2(handle(), a_transposed, b_transposed, int(c.rows), int(c.columns), int(k), &scale, a.at,
                              int(a.stride), b.at, int(b.stride), &beta, c.at, int(c.stride)),
        "a product of matrices");
}

void gemm(const SmallNumbers& a, const SmallNumbers& b, Count k, int* c) {
  // values of CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I and CUBLAS_GEMM_DEFAULT
  constexpr int bits_8 = 3, bits_32 = 10, computed_32 = 72, any = -1, one = 1, zero = 0;
  check(blas().cublasGemmEx(handle(), true, false, int(a.columns), int(b.columns), int(k), &one, a.at, bits_8,
                            int(a.stride), b.at, bits_8, int(b.stride), &zero, c, bits_32, int(a.columns), computed_32,
                            any),
        "a product of matrices");
}

void syrk(double scale, const Panel& a, double beta, const Panel& c) {
  check(blas().cublasDsyrk_v2(handle(), lower, false, int(c.rows), int(a.columns), &scale, a.at, int(a.stride), &beta,
                              c.at, int(c.stride)),
        "a product of matrices");
}

void trmm(double scale, Side side, const Panel& t, bool upper, bool transposed, const Panel& b, const Panel& c) {
  check(blas().cublasDtrmm_v2(handle(), side_of(side), upper, transposed, general, int(c.rows), int(c.columns), &scale,
                              t.at, int(t.stride), b.at, int(b.stride), c.at, int(c.stride)),
        "multiplying by a triangle");
}

void trsm(Side side, const Panel& t, bool upper, bool transposed, const Panel& b) {
  const double one = 1;
  check(blas().cublasDtrsm_v2(handle(), side_of(side), upper, transposed, general, int(b.rows), int(b.columns), &one,
                              t.at, int(t.stride), b.at, int(b.stride)),
        "solving with a triangle");
}

void copy_panel(const Panel& a, const Panel& to) {
  const double one = 1, zero = 0;
  check(blas().cublasDgeam(handle(), false, false, int(a.rows), int(a.columns), &one, a.at, int(a.stride), &zero, a.at,
                           int(a.stride), to.at, int(to.stride)),
        "copying a matrix");
}

}  // namespace cuda
}  // namespace kernops
