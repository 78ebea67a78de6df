// Opens the CUDA driver and reports its errors.
#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

Driver open_driver() {
  void* library = open_library("libcuda.so.1");
  if (!library) throw CudaError("no NVIDIA driver was found (libcuda.so.1 cannot be opened)");
  Driver d;
#define FIND(name, ...) find(library, #name, d.name);
  KERNOPS_DRIVER(FIND)
#undef FIND
  d.check(d.cuInit(0), "starting the NVIDIA driver");
  int devices = 0;
  d.check(d.cuDeviceGetCount(&devices), "counting the GPUs");
  if (devices == 0) throw CudaError("the NVIDIA driver sees no GPU");
  return d;
}

}  // namespace

void Driver::check(Result result, const char* what) const {
  if (result == 0) return;
  const char* reason = nullptr;
  cuGetErrorString(result, &reason);
  const bool memory = result == 2;  // CUDA_ERROR_OUT_OF_MEMORY
  throw CudaError(std::string(what) + " failed: " + (reason ? reason : "unknown error"), memory ? "memory" : "cuda");
}

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

int driver_version() {
  int version = 0;
  driver().check(driver().cuDriverGetVersion(&version), "asking the NVIDIA driver about itself");
  return version;
}

}  // namespace cuda
}  // namespace kernops
