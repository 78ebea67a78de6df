// Signatures: the cuBLAS manual.
#include "cuda/blas.h"

#include <map>

#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;

struct Blas {
  Status (*cublasCreate_v2)(void**);
  Status (*cublasDgemm_v2)(void*, int transposed_a, int transposed_b, int m, int n, int k, const double*,
                           const double* a, int lda, const double* b, int ldb, const double*, double* c, int ldc);
};

Blas open_blas() {
  void* library = nullptr;
  for (const std::string version : {"13", "12"}) {
    if (library || (version == "13" && driver_is_old())) continue;
    open_toolkit_library({"libcublasLt.so." + version});  // which it finds among those that are open already
    library = open_toolkit_library({"libcublas.so." + version});
  }
  if (!library) throw CudaError("cuBLAS of the CUDA toolkit was not found (libcublas.so)");
  Blas blas;
  find(library, "cublasCreate_v2", blas.cublasCreate_v2);
  find(library, "cublasDgemm_v2", blas.cublasDgemm_v2);
  return blas;
}

const Blas& blas() {
  static const Blas opened = open_blas();
  return opened;
}

void check(Status status) {
  if (status == 0) return;
  const bool memory = status == 3;  // CUBLAS_STATUS_ALLOC_FAILED
  throw CudaError("a product of matrices on the GPU failed: " +
                      (memory ? std::string("out of memory") : "status " + std::to_string(status) + " of cuBLAS"),
                  memory ? "memory" : "cuda");
}

// Of the current device, for the first thread alone. They live as long as the process.
void* handle() {
  static std::map<int, void*> all;
  void*& here = all[current_device().number];
  if (!here) check(blas().cublasCreate_v2(&here));
  return here;
}

}  // namespace

bool has_blas() {
  static const bool found = [] {
    try {
      blas();
      return true;
    } catch (const CudaError&) {
      return false;
    }
  }();
  return found;
}

void multiply(Count m, Count n, Count k, const Operand& a, bool a_transposed, const Operand& b, bool adds, double* c,
              Count c_stride) {
  const double one = 1, kept = adds;
  check(blas().cublasDgemm_v2(handle(), a_transposed, false, int(m), int(n), int(k), &one, a.at, int(a.stride), b.at,
                              int(b.stride), &kept, c, int(c_stride)));
}

}  // namespace cuda
}  // namespace kernops
