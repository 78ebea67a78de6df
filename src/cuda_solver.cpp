// Signatures: the cuSOLVER and cuBLAS manuals.
#include "cuda_solver.h"

#include <cstdint>
#include <map>

#include "cuda_library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;
constexpr int lower = 0, left = 0, right = 1, general = 0, doubles = 1;  // of cuBLAS' enumerations, and CUDA_R_64F
const double one = 1;

struct Library {
  Status (*cublasCreate_v2)(void**);
  Status (*cublasDtrsm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n,
                           const double*, const double* a, int lda, double* b, int ldb);
  Status (*cublasDtrmm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n,
                           const double*, const double* a, int lda, const double* b, int ldb, double* c,
                           int ldc);
  Status (*cublasDgemm_v2)(void*, int transposed_a, int transposed_b, int m, int n, int k, const double*,
                           const double* a, int lda, const double* b, int ldb, const double*, double* c, int ldc);
  Status (*cusolverGetVersion)(int*);
  Status (*cusolverDnCreate)(void**);
  Status (*cusolverDnCreateParams)(void**);
  Status (*cusolverDnXpotrf_bufferSize)(void*, void*, int triangle, int64_t n, int type, const void* a,
                                        int64_t lda, int computes, size_t* device, size_t* host);
  Status (*cusolverDnXpotrf)(void*, void*, int triangle, int64_t n, int type, void* a, int64_t lda,
                             int computes, void* device, size_t device_bytes, void* host, size_t host_bytes,
                             int* info);
  Status (*cusolverDnXtrtri_bufferSize)(void*, int triangle, int diagonal, int64_t n, int type, void* a,
                                        int64_t lda, size_t* device, size_t* host);
  Status (*cusolverDnXtrtri)(void*, int triangle, int diagonal, int64_t n, int type, void* a, int64_t lda,
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
  FIND(blas, cublasDgemm_v2)
  FIND(solver, cusolverGetVersion) FIND(solver, cusolverDnCreate) FIND(solver, cusolverDnCreateParams)
  FIND(solver, cusolverDnXpotrf_bufferSize) FIND(solver, cusolverDnXpotrf)
  FIND(solver, cusolverDnXtrtri_bufferSize) FIND(solver, cusolverDnXtrtri)
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

// work(device memory, host memory, info) in so many bytes of each; what it leaves in `info`.
template <class F> int with_memory(size_t device_bytes, size_t host_bytes, F work) {
  const Buffer device(device_bytes), info(sizeof(int));
  std::vector<char> host(host_bytes);
  work(device.address(), host.data(), static_cast<int*>(info.address()));
  int found = 0;
  copy_out(&found, info.pointer(), sizeof found);
  return found;
}

}  // namespace

Count factor(const Triangle& a) {
  const Library& l = library();
  const Handles& h = handles();
  size_t device = 0, host = 0;
  check(l.cusolverDnXpotrf_bufferSize(h.solver, h.parameters, lower, a.n, doubles, a.at, a.stride, doubles,
                                      &device, &host),
        "preparing a Cholesky decomposition");
  return with_memory(device, host, [&](void* there, void* here, int* info) {
    check(l.cusolverDnXpotrf(h.solver, h.parameters, lower, a.n, doubles, a.at, a.stride, doubles, there,
                             device, here, host, info),
          "a Cholesky decomposition");
  });
}

void invert(const Triangle& t) {
  const Library& l = library();
  const Handles& h = handles();
  size_t device = 0, host = 0;
  check(l.cusolverDnXtrtri_bufferSize(h.solver, lower, general, t.n, doubles, t.at, t.stride, &device, &host),
        "preparing an inversion");
  with_memory(device, host, [&](void* there, void* here, int* info) {
    check(l.cusolverDnXtrtri(h.solver, lower, general, t.n, doubles, t.at, t.stride, there, device, here, host,
                             info),
          "an inversion");
  });
}

void solve(const Triangle& l, bool transposed, double* b, Count columns) {
  check(library().cublasDtrsm_v2(handles().blas, left, l.upper, transposed, general, int(l.n), int(columns), &one,
                                 l.at, int(l.stride), b, int(l.n)),
        "solving with a triangle");
}

void solve_right(const Triangle& l, double* b, Count rows) {
  check(library().cublasDtrsm_v2(handles().blas, right, l.upper, true, general, int(rows), int(l.n), &one, l.at,
                                 int(l.stride), b, int(rows)),
        "solving with a triangle");
}

void multiply(const Triangle& l, bool transposed, const double* b, Count columns, double* out) {
  check(library().cublasDtrmm_v2(handles().blas, left, l.upper, transposed, general, int(l.n), int(columns), &one,
                                 l.at, int(l.stride), b, int(l.n), out, int(l.n)),
        "multiplying by a triangle");
}

void product(bool transposed, Count m, Count n, Count k, const double* a, const double* b, double scale, double* c) {
  check(library().cublasDgemm_v2(handles().blas, transposed, false, int(m), int(n), int(k), &one, a,
                                 int(transposed ? k : m), b, int(k), &scale, c, int(m)),
        "a product of matrices");
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
