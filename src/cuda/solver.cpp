// Calls of cuSOLVER; the signatures are those of the cuSOLVER manual.
#include "cuda/solver.h"

#include <cstdint>
#include <map>

#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;
constexpr int lower = 0, doubles = 1;  // values of cuBLAS enumerators, and CUDA_R_64F

struct Library {
  Status (*cusolverGetVersion)(int*);
  Status (*cusolverDnCreate)(void**);
  Status (*cusolverDnCreateParams)(void**);
  Status (*cusolverDnXpotrf_bufferSize)(void*, void*, int triangle, int64_t n, int type, const void* a, int64_t lda,
                                        int computes, size_t* device, size_t* host);
  Status (*cusolverDnXpotrf)(void*, void*, int triangle, int64_t n, int type, void* a, int64_t lda, int computes,
                             void* device, size_t device_bytes, void* host, size_t host_bytes, int* info);
};

// Opens cuSOLVER from the same CUDA toolkit as cuBLAS. This function first opens the libraries on which cuSOLVER
// depends.
Library open_solver() {
  const bool is_new = blas_release() == 13;
  for (const char* needed : {is_new ? "libnvJitLink.so.13" : "libnvJitLink.so.12", "libcusparse.so.12"})
    open_toolkit_library({needed});
  void* solver = open_toolkit_library({is_new ? "libcusolver.so.12" : "libcusolver.so.11"});
  if (!solver)
    throw CudaError("cuSOLVER of the CUDA toolkit was not found (libcusolver.so); set CUDA_HOME to the CUDA toolkit");
  Library l;
  // clang-format off
#define FIND(name) find(solver, #name, l.name);
  FIND(cusolverGetVersion) FIND(cusolverDnCreate) FIND(cusolverDnCreateParams)
  FIND(cusolverDnXpotrf_bufferSize) FIND(cusolverDnXpotrf)
#undef FIND
      // clang-format on
      return l;
}

const Library& library() {
  static const Library opened = open_solver();
  return opened;
}

void check(Status status, const char* what) { check_status(status, what, "cuSOLVER"); }

struct Handles {
  void *solver = nullptr, *parameters = nullptr;
};

// Returns the cuSOLVER handles of the current device, which live as long as the process.
const Handles& handles() {
  static std::map<int, Handles> all;
  Handles& here = all[current_device().number];
  if (here.parameters) return here;
  Handles made;
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

bool has_solver() {
  static const bool available = opens(library);
  return available;
}

std::string solver_version() {
  int version = 0;
  library().cusolverGetVersion(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace cuda
}  // namespace kernops
