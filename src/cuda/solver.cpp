// Signatures: the cuSOLVER and cuBLAS manuals.
#include "cuda/solver.h"

#include <cstdint>
#include <map>

#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;
constexpr int lower = 0, left = 0, right = 1, general = 0,
              doubles = 1;  // of cuBLAS' enumerations, and CUDA_R_64F
const double zero = 0;

struct Library {
  Status (*cublasCreate_v2)(void**);
  Status (*cublasDtrsm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, double* b, int ldb);
  Status (*cublasDtrmm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, const double* b, int ldb, double* c, int ldc);
  Status (*cublasDgemm_v2)(void*, int transposed_a, int transposed_b, int m, int n, int k, const double*,
                           const double* a, int lda, const double* b, int ldb, const double*, double* c, int ldc);
  Status (*cublasDsyrk_v2)(void*, int triangle, int transposed, int n, int k, const double*, const double* a, int lda,
                           const double*, double* c, int ldc);
  Status (*cublasDgeam)(void*, int transposed_a, int transposed_b, int m, int n, const double*, const double* a,
                        int lda, const double*, const double* b, int ldb, double* c, int ldc);
  Status (*cusolverGetVersion)(int*);
  Status (*cusolverDnCreate)(void**);
  Status (*cusolverDnCreateParams)(void**);
  Status (*cusolverDnXpotrf_bufferSize)(void*, void*, int triangle, int64_t n, int type, const void* a, int64_t lda,
                                        int computes, size_t* device, size_t* host);
  Status (*cusolverDnXpotrf)(void*, void*, int triangle, int64_t n, int type, void* a, int64_t lda, int computes,
                             void* device, size_t device_bytes, void* host, size_t host_bytes, int* info);
};

// cuSOLVER finds the libraries that it needs among those that are open already.
void* open_solver(const std::vector<std::string>& needed, const std::string& name) {
  for (const std::string& other : needed) open_toolkit_library({other});
  return open_toolkit_library({name});
}

Library open_libraries() {
  const auto find_old = [] {
    return open_solver({"libnvJitLink.so.12", "libcublasLt.so.12", "libcublas.so.12", "libcusparse.so.12"},
                       "libcusolver.so.11");
  };
  const auto find_new = [] {
    return open_solver({"libnvJitLink.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusparse.so.12"},
                       "libcusolver.so.12");
  };
  void* solver = driver_is_old() ? nullptr : find_new();
  const bool is_new = solver != nullptr;
  if (!solver) solver = find_old();
  void* blas = solver ? open_toolkit_library({is_new ? "libcublas.so.13" : "libcublas.so.12"}) : nullptr;
  if (!blas)
    throw CudaError(
        "cuSOLVER and cuBLAS of the CUDA toolkit were not found (libcusolver.so, libcublas.so); set "
        "CUDA_HOME to the CUDA toolkit");
  Library l;
  // clang-format off
#define FIND(from, name) find(from, #name, l.name);
  FIND(blas, cublasCreate_v2) FIND(blas, cublasDtrsm_v2) FIND(blas, cublasDtrmm_v2)
  FIND(blas, cublasDgemm_v2) FIND(blas, cublasDsyrk_v2) FIND(blas, cublasDgeam)
  FIND(solver, cusolverGetVersion) FIND(solver, cusolverDnCreate) FIND(solver, cusolverDnCreateParams)
  FIND(solver, cusolverDnXpotrf_bufferSize) FIND(solver, cusolverDnXpotrf)
#undef FIND
      // clang-format on
      return l;
}

const Library& library() {
  static const Library opened = open_libraries();
  return opened;
}

void check(Status status, const char* what) {
  if (status == 0) return;
  // CUBLAS_STATUS_ALLOC_FAILED is 3, CUSOLVER_STATUS_ALLOC_FAILED 2
  const bool memory = status == 2 || status == 3;
  throw CudaError(std::string(what) + " on the GPU failed: " +
                      (memory ? "out of memory" : "status " + std::to_string(status) + " of cuSOLVER"),
                  memory ? "memory" : "cuda");
}

struct Handles {
  void *blas = nullptr, *solver = nullptr, *parameters = nullptr;
};

// Of the current device. They live as long as the process.
const Handles& handles() {
  static std::map<int, Handles> all;
  Handles& here = all[current_device().number];
  if (here.parameters) return here;
  Handles made;
  check(library().cublasCreate_v2(&made.blas), "opening cuBLAS");
  check(library().cusolverDnCreate(&made.solver), "opening cuSOLVER");
  check(library().cusolverDnCreateParams(&made.parameters), "opening cuSOLVER");
  return here = made;
}

}  // namespace

Count cholesky(const Panel& a) {
  const Library& l = library();
  const Handles& h = handles();
  size_t device = 0, host = 0;
  check(l.cusolverDnXpotrf_bufferSize(h.solver, h.parameters, lower, a.rows, doubles, a.at, a.stride, doubles, &device,
                                      &host),
        "preparing a Cholesky decomposition");
  const Buffer there(device), info(sizeof(int));
  std::vector<char> here(host);
  check(l.cusolverDnXpotrf(h.solver, h.parameters, lower, a.rows, doubles, a.at, a.stride, doubles, there.address(),
                           device, here.data(), host, static_cast<int*>(info.address())),
        "a Cholesky decomposition");
  int bad = 0;
  copy_out(&bad, info.pointer(), sizeof bad);
  return bad;
}

void gemm(double scale, const Panel& a, bool a_transposed, const Panel& b, bool b_transposed, double kept,
          const Panel& c) {
  const Count k = a_transposed ? a.rows : a.columns;
  check(library().cublasDgemm_v2(handles().blas, a_transposed, b_transposed, int(c.rows), int(c.columns), int(k),
                                 &scale, a.at, int(a.stride), b.at, int(b.stride), &kept, c.at, int(c.stride)),
        "a product of matrices");
}

void syrk(double scale, const Panel& a, double kept, const Panel& c) {
  check(library().cublasDsyrk_v2(handles().blas, lower, false, int(c.rows), int(a.columns), &scale, a.at, int(a.stride),
                                 &kept, c.at, int(c.stride)),
        "a product of matrices");
}

void trmm(double scale, Side side, const Panel& t, bool upper, bool transposed, const Panel& b, const Panel& c) {
  check(library().cublasDtrmm_v2(handles().blas, side == Side::left ? left : right, upper, transposed, general,
                                 int(c.rows), int(c.columns), &scale, t.at, int(t.stride), b.at, int(b.stride), c.at,
                                 int(c.stride)),
        "multiplying by a triangle");
}

void trsm(Side side, const Panel& t, bool upper, bool transposed, const Panel& b) {
  const double one = 1;
  check(library().cublasDtrsm_v2(handles().blas, side == Side::left ? left : right, upper, transposed, general,
                                 int(b.rows), int(b.columns), &one, t.at, int(t.stride), b.at, int(b.stride)),
        "solving with a triangle");
}

void copy_panel(const Panel& a, const Panel& to) {
  const double one = 1;
  check(library().cublasDgeam(handles().blas, false, false, int(a.rows), int(a.columns), &one, a.at, int(a.stride),
                              &zero, a.at, int(a.stride), to.at, int(to.stride)),
        "copying a matrix");
}

bool has_solver() {
  static const bool found = [] {
    try {
      library();
      return true;
    } catch (const CudaError&) {
      return false;
    }
  }();
  return found;
}

std::string solver_version() {
  int version = 0;
  library().cusolverGetVersion(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace cuda
}  // namespace kernops
