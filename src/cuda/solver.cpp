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
const double one = 1, zero = 0, minus_one = -1;

struct Library {
  Status (*cublasCreate_v2)(void**);
  Status (*cublasDtrsm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, double* b, int ldb);
  Status (*cublasDtrmm_v2)(void*, int side, int triangle, int transposed, int diagonal, int m, int n, const double*,
                           const double* a, int lda, const double* b, int ldb, double* c, int ldc);
  Status (*cublasDgemm_v2)(void*, int transposed_a, int transposed_b, int m, int n, int k, const double*,
                           const double* a, int lda, const double* b, int ldb, const double*, double* c, int ldc);
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
  FIND(blas, cublasDgemm_v2) FIND(blas, cublasDgeam)
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

Count factor(const Triangle& a) {
  const Library& l = library();
  const Handles& h = handles();
  size_t device = 0, host = 0;
  check(l.cusolverDnXpotrf_bufferSize(h.solver, h.parameters, lower, a.n, doubles, a.at, a.stride, doubles, &device,
                                      &host),
        "preparing a Cholesky decomposition");
  const Buffer there(device), info(sizeof(int));
  std::vector<char> here(host);
  check(l.cusolverDnXpotrf(h.solver, h.parameters, lower, a.n, doubles, a.at, a.stride, doubles, there.address(),
                           device, here.data(), host, static_cast<int*>(info.address())),
        "a Cholesky decomposition");
  int bad = 0;
  copy_out(&bad, info.pointer(), sizeof bad);
  return bad;
}

namespace {

// Small enough to be solved as it stands.
constexpr Count leaf = 512;

// The parts of a triangle are inverted first: (A 0; B C)^-1 = (A^-1 0; -C^-1 B A^-1 C^-1). Nearly all of that
// is products, which are several times as fast as what cuSOLVER has for triangles.
void invert_parts(const Triangle& t, const double* unit, double* room) {
  const Library& l = library();
  const Handles& h = handles();
  if (t.n <= leaf) {
    copy_across(address(room), 0, address(unit), 0,
                size_t(leaf * leaf) * sizeof(double));
    check(l.cublasDtrsm_v2(h.blas, left, lower, false, general, int(t.n), int(t.n), &one, t.at, int(t.stride), room,
                           int(leaf)),
          "inverting a triangle");
    check(l.cublasDgeam(h.blas, false, false, int(t.n), int(t.n), &one, room, int(leaf), &zero, room, int(leaf), t.at,
                        int(t.stride)),
          "inverting a triangle");
    return;
  }
  const Count first = (t.n / 2 + leaf - 1) / leaf * leaf, second = t.n - first;
  const Triangle a{t.at, first, t.stride}, c{t.at + first * (t.stride + 1), second, t.stride};
  double* const b = t.at + first;
  invert_parts(a, unit, room);
  invert_parts(c, unit, room);
  check(l.cublasDtrmm_v2(h.blas, right, lower, false, general, int(second), int(first), &one, a.at, int(t.stride), b,
                         int(t.stride), room, int(second)),
        "inverting a triangle");
  check(l.cublasDtrmm_v2(h.blas, left, lower, false, general, int(second), int(first), &minus_one, c.at, int(t.stride),
                         room, int(second), b, int(t.stride)),
        "inverting a triangle");
}

}  // namespace

void invert(const Triangle& t) {
  const Count half = (t.n / 2 + leaf) / leaf * leaf;
  std::vector<double> diagonal(size_t(leaf * leaf), 0.0);
  for (Count n = 0; n < leaf; ++n) diagonal[size_t(n * (leaf + 1))] = 1;
  const Buffer unit(diagonal.size() * sizeof(double)), room(size_t(half * half) * sizeof(double));
  copy_in(unit.pointer(), diagonal.data(), diagonal.size() * sizeof(double));
  invert_parts(t, static_cast<double*>(unit.address()), static_cast<double*>(room.address()));
}

void solve(const Triangle& l, bool transposed, double* b, Count columns) {
  check(library().cublasDtrsm_v2(handles().blas, left, l.upper, transposed, general, int(l.n), int(columns), &one, l.at,
                                 int(l.stride), b, int(l.n)),
        "solving with a triangle");
}

void solve_right(const Triangle& l, double* b, Count rows) {
  check(library().cublasDtrsm_v2(handles().blas, right, l.upper, true, general, int(rows), int(l.n), &one, l.at,
                                 int(l.stride), b, int(rows)),
        "solving with a triangle");
}

void multiply(const Triangle& l, bool transposed, const double* b, Count columns, double* out) {
  check(library().cublasDtrmm_v2(handles().blas, left, l.upper, transposed, general, int(l.n), int(columns), &one, l.at,
                                 int(l.stride), b, int(l.n), out, int(l.n)),
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
