// The driver and NVRTC.
#include "cuda_library.h"

namespace kernops {
namespace cuda {
namespace {

Driver open_driver() {
  void* library = open_library("libcuda.so.1");
  if (!library) throw CudaError("no NVIDIA driver was found (libcuda.so.1 cannot be opened)");
  Driver d;
  // clang-format off
#define FIND(name) find(library, #name, d.name);
  FIND(cuInit) FIND(cuDriverGetVersion) FIND(cuGetErrorString) FIND(cuDeviceGetCount) FIND(cuDeviceGet)
  FIND(cuDeviceGetName) FIND(cuDeviceGetAttribute) FIND(cuDeviceTotalMem_v2) FIND(cuDevicePrimaryCtxRetain)
  FIND(cuCtxSetCurrent) FIND(cuCtxSynchronize) FIND(cuCtxEnablePeerAccess) FIND(cuMemGetInfo_v2)
  FIND(cuMemAlloc_v2) FIND(cuMemFree_v2) FIND(cuMemcpyHtoD_v2) FIND(cuMemcpyDtoH_v2) FIND(cuMemcpyDtoD_v2)
  FIND(cuMemcpyPeerAsync) FIND(cuMemsetD32_v2) FIND(cuModuleLoadData) FIND(cuModuleUnload)
  FIND(cuModuleGetFunction) FIND(cuModuleGetGlobal_v2) FIND(cuOccupancyMaxActiveBlocksPerMultiprocessor)
  FIND(cuLaunchKernel) FIND(cuEventCreate) FIND(cuEventRecord) FIND(cuEventSynchronize)
  FIND(cuEventElapsedTime) FIND(cuEventDestroy_v2) FIND(cuStreamCreate) FIND(cuStreamWaitEvent)
#undef FIND
      // clang-format on
      d.check(d.cuInit(0), "starting the NVIDIA driver");
  int devices = 0;
  d.check(d.cuDeviceGetCount(&devices), "counting the GPUs");
  if (devices == 0) throw CudaError("the NVIDIA driver sees no GPU");
  return d;
}

struct Compiler {
  int (*nvrtcVersion)(int*, int*);
  const char* (*nvrtcGetErrorString)(int);
  int (*nvrtcCreateProgram)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*nvrtcCompileProgram)(void*, int, const char* const*);
  int (*nvrtcGetProgramLogSize)(void*, size_t*);
  int (*nvrtcGetProgramLog)(void*, char*);
  int (*nvrtcGetCUBINSize)(void*, size_t*);
  int (*nvrtcGetCUBIN)(void*, char*);
  int (*nvrtcDestroyProgram)(void**);
};

Compiler open_compiler() {
  void* library = driver_is_old() ? open_toolkit_library({"libnvrtc.so.12"}) : nullptr;
  if (!library) library = open_toolkit_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  if (!library)
    throw CudaError(
        "NVRTC, the CUDA run-time compiler, was not found (libnvrtc.so); set CUDA_HOME to the CUDA toolkit");
  Compiler c;
#define FIND(name) find(library, #name, c.name);
  FIND(nvrtcVersion)
  FIND(nvrtcGetErrorString)
  FIND(nvrtcCreateProgram)
  FIND(nvrtcCompileProgram)
  FIND(nvrtcGetProgramLogSize) FIND(nvrtcGetProgramLog) FIND(nvrtcGetCUBINSize) FIND(nvrtcGetCUBIN)
      FIND(nvrtcDestroyProgram)
#undef FIND
          return c;
}

const Compiler& compiler() {
  static const Compiler opened = open_compiler();
  return opened;
}

}  // namespace

void Driver::check(Result result, const char* what) const {
  if (result == 0) return;
  const char* reason = nullptr;
  cuGetErrorString(result, &reason);
  const bool memory = result == 2;  // CUDA_ERROR_OUT_OF_MEMORY
  throw CudaError(std::string(what) + " failed: " + (reason ? reason : "unknown error"),
                  memory ? "memory" : "cuda");
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

// Divisions and square roots of floats to 2 ulp, denormal floats as 0: one instruction instead of many.
const std::vector<std::string>& compile_options() {
  static const std::vector<std::string> options = {"--std=c++17", "--ftz=true", "--prec-div=false",
                                                   "--prec-sqrt=false",
                                                   "--device-as-default-execution-space"};
  return options;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  compiler().nvrtcVersion(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<char> compile(const std::string& text, const std::string& architecture,
                          const std::string& include) {
  const Compiler& c = compiler();
  const std::string arch = "--gpu-architecture=" + architecture, folder = "--include-path=" + include;
  std::vector<const char*> options = {arch.c_str(), folder.c_str()};
  for (const std::string& option : compile_options()) options.push_back(option.c_str());
  void* program = nullptr;
  if (c.nvrtcCreateProgram(&program, text.c_str(), "formula.cu", 0, nullptr, nullptr) != 0)
    throw CudaError("NVRTC cannot start", "compile");
  const int result = c.nvrtcCompileProgram(program, int(options.size()), options.data());
  std::vector<char> binary;
  size_t size = 0;
  if (result == 0) {
    c.nvrtcGetCUBINSize(program, &size);
    binary.resize(size);
    c.nvrtcGetCUBIN(program, binary.data());
    c.nvrtcDestroyProgram(&program);
    return binary;
  }
  c.nvrtcGetProgramLogSize(program, &size);
  std::vector<char> log(size + 1, '\0');
  c.nvrtcGetProgramLog(program, log.data());
  c.nvrtcDestroyProgram(&program);
  throw CudaError(std::string("NVRTC: ") + c.nvrtcGetErrorString(result) + "\n" + log.data(), "compile");
}

}  // namespace cuda
}  // namespace kernops
