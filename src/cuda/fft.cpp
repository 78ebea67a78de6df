// Calls of cuFFT; the signatures are those of the cuFFT manual.
#include "cuda/fft.h"

#include "cuda/blas.h"
#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

using Status = int;
constexpr int doubles_to_modes = 0x6a, modes_to_doubles = 0x6c;  // CUFFT_D2Z and CUFFT_Z2D

struct Library {
  Status (*cufftGetVersion)(int*);
  Status (*cufftPlanMany)(int* plan, int rank, int* size, int*, int, int, int*, int, int, int type, int batch);
  Status (*cufftExecD2Z)(int plan, double* from, void* to);
  Status (*cufftExecZ2D)(int plan, void* from, double* to);
  Status (*cufftDestroy)(int plan);
};

Library open_fft() {
  void* fft = nullptr;
  if (!driver_is_old()) fft = open_toolkit_library({"libcufft.so.12"});  // of CUDA 13
  if (!fft) fft = open_toolkit_library({"libcufft.so.11"});
  if (!fft) throw CudaError("cuFFT of the CUDA toolkit was not found (libcufft.so); set CUDA_HOME to the CUDA toolkit");
  Library l;
  // clang-format off
#define FIND(name) find(fft, #name, l.name);
  FIND(cufftGetVersion) FIND(cufftPlanMany) FIND(cufftExecD2Z) FIND(cufftExecZ2D) FIND(cufftDestroy)
#undef FIND
      // clang-format on
      return l;
}

const Library& library() {
  static const Library opened = open_fft();
  return opened;
}

// CUFFT_ALLOC_FAILED is 2, like the status of cuSOLVER.
void check(Status status, const char* what) { check_status(status, what, "cuFFT"); }

int plan(std::vector<int> size, int type) {
  int made = -1;
  const std::vector<int> slowest_first(size.rbegin(), size.rend());
  size = slowest_first;
  check(library().cufftPlanMany(&made, int(size.size()), size.data(), nullptr, 1, 0, nullptr, 1, 0, type, 1),
        "preparing a Fourier transform");
  return made;
}

}  // namespace

bool has_fft() {
  static const bool available = opens(library);
  return available;
}

std::string fft_version() {
  int version = 0;
  check(library().cufftGetVersion(&version), "asking cuFFT for its version");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
         std::to_string(version % 100);
}

RealTransforms::RealTransforms(const std::vector<int>& size) : forward_(plan(size, doubles_to_modes)) {
  try {
    inverse_ = plan(size, modes_to_doubles);
  } catch (...) {
    library().cufftDestroy(forward_);
    throw;
  }
}

RealTransforms::~RealTransforms() {
  library().cufftDestroy(forward_);
  library().cufftDestroy(inverse_);
}

void RealTransforms::forward(double* grid, void* modes) const {
  check(library().cufftExecD2Z(forward_, grid, modes), "a Fourier transform");
}

void RealTransforms::inverse(void* modes, double* grid) const {
  check(library().cufftExecZ2D(inverse_, modes, grid), "a Fourier transform");
}

}  // namespace cuda
}  // namespace kernops
