// The CUDA driver and NVRTC, opened at run time. The functions are declared with types of this package, so that the
// package can be built without the CUDA toolkit. The signatures are those of the manuals of the CUDA Driver API and
// NVRTC.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "run/errors.h"

namespace kernops {
namespace cuda {

// An error of CUDA; `kind` is "cuda", "compile" or "memory".
struct CudaError : ClassedError {
  explicit CudaError(const std::string& message, const char* kind = "cuda") : ClassedError(kind, message) {}
};

using DevicePointer = unsigned long long;

// Structs with the layout of the driver's structs CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  alignas(8) char value[64];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};

// The names and arguments of the driver functions that this package calls. Every function returns Result.
// clang-format off
#define KERNOPS_DRIVER(F) \
  F(cuInit, unsigned) \
  F(cuDriverGetVersion, int*) \
  F(cuGetErrorString, Result, const char**) \
  F(cuDeviceGetCount, int*) \
  F(cuDeviceGet, int*, int) \
  F(cuDeviceGetName, char*, int, int) \
  F(cuDeviceGetAttribute, int*, int, int) \
  F(cuDeviceTotalMem_v2, size_t*, int) \
  F(cuDevicePrimaryCtxRetain, void**, int) \
  F(cuCtxSetCurrent, void*) \
  F(cuCtxSynchronize, void) \
  F(cuCtxEnablePeerAccess, void*, unsigned) \
  F(cuMemGetInfo_v2, size_t*, size_t*) \
  F(cuMemAlloc_v2, DevicePointer*, size_t) \
  F(cuMemFree_v2, DevicePointer) \
  F(cuMemcpyHtoD_v2, DevicePointer, const void*, size_t) \
  F(cuMemcpyDtoH_v2, void*, DevicePointer, size_t) \
  F(cuMemcpyDtoD_v2, DevicePointer, DevicePointer, size_t) \
  F(cuMemcpyPeerAsync, DevicePointer, void*, DevicePointer, void*, size_t, void*) \
  F(cuMemsetD32_v2, DevicePointer, unsigned, size_t) \
  F(cuModuleLoadData, void**, const void*) \
  F(cuModuleGetFunction, void**, void*, const char*) \
  F(cuModuleGetGlobal_v2, DevicePointer*, size_t*, void*, const char*) \
  F(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, void*, int, size_t) \
  F(cuFuncSetAttribute, void*, int, int) \
  F(cuLaunchKernelEx, const LaunchConfig*, void*, void**, void**) \
  F(cuEventCreate, void**, unsigned) \
  F(cuEventRecord, void*, void*) \
  F(cuEventSynchronize, void*) \
  F(cuEventElapsedTime, float*, void*, void*) \
  F(cuEventDestroy_v2, void*) \
  F(cuStreamCreate, void**, unsigned) \
  F(cuStreamWaitEvent, void*, void*, unsigned)
// clang-format on

struct Driver {
  using Result = int;
#define DECLARE(name, ...) Result (*name)(__VA_ARGS__);
  KERNOPS_DRIVER(DECLARE)
#undef DECLARE

  void check(Result result, const char* what) const;  // throws CudaError
};

// Returns the initialised driver; throws CudaError with the reason if there is no driver or no device.
const Driver& driver();
int driver_version();  // the CUDA version that the driver supports: 12040 means 12.4

// ---- NVRTC (cuda/compiler.cpp)

// True if the four warps of a warp group can multiply matrices together on tensor cores (wgmma,
// cuda/wide/warpgroups.cuh). Only devices of architecture sm_90 support wgmma instructions, and code with these
// instructions must be compiled for sm_90a.
inline bool has_warpgroups(const std::string& architecture) { return architecture == "sm_90"; }
inline std::string full_name(const std::string& architecture) {
  return architecture + (has_warpgroups(architecture) ? "a" : "");
}
// Compiles a text for an architecture such as "sm_90"; throws CudaError with the complete log.
std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include);
const std::vector<std::string>& compile_options();  // without the architecture and the include path
std::string compiler_version();                     // such as "13.0"; throws CudaError if NVRTC cannot be found

}  // namespace cuda
}  // namespace kernops
