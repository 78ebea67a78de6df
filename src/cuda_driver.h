// The CUDA driver and NVRTC, opened at run time: the few functions used, with types of our own, so that
// neither is needed to build the package. Signatures: CUDA Driver API and NVRTC manuals.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernops {
namespace cuda {

// What the user is told, as class kernops_cuda_error, kernops_compile_error or kernops_memory_error.
struct CudaError : std::runtime_error {
  explicit CudaError(const std::string& message, const char* kind = "cuda")
      : std::runtime_error(message), kind(kind) {}
  const char* kind;
};

using DevicePointer = unsigned long long;

struct Driver {
  using Result = int;
  Result (*cuInit)(unsigned);
  Result (*cuDriverGetVersion)(int*);
  Result (*cuGetErrorString)(Result, const char**);
  Result (*cuDeviceGetCount)(int*);
  Result (*cuDeviceGet)(int*, int);
  Result (*cuDeviceGetName)(char*, int, int);
  Result (*cuDeviceGetAttribute)(int*, int, int);
  Result (*cuDeviceTotalMem_v2)(size_t*, int);
  Result (*cuDevicePrimaryCtxRetain)(void**, int);
  Result (*cuCtxSetCurrent)(void*);
  Result (*cuCtxSynchronize)();
  Result (*cuCtxEnablePeerAccess)(void*, unsigned);
  Result (*cuMemGetInfo_v2)(size_t*, size_t*);
  Result (*cuMemAlloc_v2)(DevicePointer*, size_t);
  Result (*cuMemFree_v2)(DevicePointer);
  Result (*cuMemcpyHtoD_v2)(DevicePointer, const void*, size_t);
  Result (*cuMemcpyDtoH_v2)(void*, DevicePointer, size_t);
  Result (*cuMemcpyDtoD_v2)(DevicePointer, DevicePointer, size_t);
  Result (*cuMemcpyPeerAsync)(DevicePointer, void*, DevicePointer, void*, size_t, void*);
  Result (*cuMemsetD32_v2)(DevicePointer, unsigned, size_t);
  Result (*cuModuleLoadData)(void**, const void*);
  Result (*cuModuleUnload)(void*);
  Result (*cuModuleGetFunction)(void**, void*, const char*);
  Result (*cuModuleGetGlobal_v2)(DevicePointer*, size_t*, void*, const char*);
  Result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int*, void*, int, size_t);
  Result (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                           void**, void**);
  Result (*cuEventCreate)(void**, unsigned);
  Result (*cuEventRecord)(void*, void*);
  Result (*cuEventSynchronize)(void*);
  Result (*cuEventElapsedTime)(float*, void*, void*);
  Result (*cuEventDestroy_v2)(void*);
  Result (*cuStreamCreate)(void**, unsigned);
  Result (*cuStreamWaitEvent)(void*, void*, unsigned);

  void check(Result result, const char* what) const;  // throws CudaError
};

// The driver, initialised; throws CudaError with the reason where there is none, or no device.
const Driver& driver();
int driver_version();  // of the CUDA that it speaks: 12040 is 12.4

// Compiles text for an architecture such as "sm_90"; throws CudaError with the whole log.
std::vector<char> compile(const std::string& text, const std::string& architecture,
                          const std::string& include);
const std::vector<std::string>& compile_options();  // besides those two
std::string compiler_version();                     // "13.0"; throws CudaError where NVRTC cannot be found

}  // namespace cuda
}  // namespace kernops
