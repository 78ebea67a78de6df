// Compiles CUDA texts by NVRTC, the run-time compiler of the CUDA toolkit.
#include "cuda/compiler.h"

#include "cuda/library.h"

namespace kernops {
namespace cuda {
namespace {

// clang-format off
#define KERNOPS_NVRTC(F) \
  F(int, nvrtcVersion, int*, int*) \
  F(const char*, nvrtcGetErrorString, int) \
  F(int, nvrtcCreateProgram, void**, const char*, const char*, int, const char* const*, const char* const*) \
  F(int, nvrtcCompileProgram, void*, int, const char* const*) \
  F(int, nvrtcGetProgramLogSize, void*, size_t*) \
  F(int, nvrtcGetProgramLog, void*, char*) \
  F(int, nvrtcGetCUBINSize, void*, size_t*) \
  F(int, nvrtcGetCUBIN, void*, char*) \
  F(int, nvrtcGetPTXSize, void*, size_t*) \
  F(int, nvrtcGetPTX, void*, char*) \
  F(int, nvrtcDestroyProgram, void**)
// clang-format on

struct Compiler {
#define DECLARE(result, name, ...) result (*name)(__VA_ARGS__);
  KERNOPS_NVRTC(DECLARE)
#undef DECLARE
};

Compiler open_compiler() {
  void* library = driver_is_old() ? open_toolkit_library({"libnvrtc.so.12"}) : nullptr;
  if (!library) library = open_toolkit_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  if (!library)
    throw CudaError(
        "NVRTC, the CUDA run-time compiler, was not found (libnvrtc.so); set CUDA_HOME to the CUDA toolkit");
  Compiler c;
#define FIND(result, name, ...) find(library, #name, c.name);
  KERNOPS_NVRTC(FIND)
#undef FIND
  return c;
}

const Compiler& compiler() {
  static const Compiler opened = open_compiler();
  return opened;
}

// Owns a program of NVRTC.
struct Source {
  explicit Source(const std::string& text) {
    if (compiler().nvrtcCreateProgram(&handle, text.c_str(), "formula.cu", 0, nullptr, nullptr) != 0)
      throw CudaError("NVRTC cannot start", "compile");
  }
  ~Source() { compiler().nvrtcDestroyProgram(&handle); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  void* handle = nullptr;
};

std::string log_of(const Source& program) {
  size_t size = 0;
  compiler().nvrtcGetProgramLogSize(program.handle, &size);
  std::vector<char> log(size + 1, '\0');
  compiler().nvrtcGetProgramLog(program.handle, log.data());
  return log.data();
}

}  // namespace

// The options allow errors of up to 2 ulp in divisions and square roots of floats, and flush denormal floats to 0: each
// operation then takes one instruction instead of many.
const std::vector<std::string>& compile_options() {
  static const std::vector<std::string> options = {"--std=c++17", "--ftz=true", "--prec-div=false", "--prec-sqrt=false",
                                                   "--device-as-default-execution-space"};
  return options;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  compiler().nvrtcVersion(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include,
                          std::string& log, bool quick) {
  const Compiler& c = compiler();
  const std::string arch = "--gpu-architecture=" + full_name(architecture), folder = "--include-path=" + include;
  std::vector<const char*> options = {arch.c_str(), folder.c_str(), "--ptxas-options=--verbose"};
  for (const std::string& option : compile_options()) options.push_back(option.c_str());
  const bool is_virtual = architecture.compare(0, 8, "compute_") == 0;  // a virtual architecture yields PTX
  // the level "max" would also change all later compilations in this process (NVRTC 13.0)
  if (quick && std::stoi(compiler_version()) >= 13) options.push_back("--Ofast-compile=mid");
  const Source program(text);
  const int result = c.nvrtcCompileProgram(program.handle, int(options.size()), options.data());
  log = log_of(program);
  if (result != 0) throw CudaError(std::string("NVRTC: ") + c.nvrtcGetErrorString(result) + "\n" + log, "compile");
  size_t size = 0;
  (is_virtual ? c.nvrtcGetPTXSize : c.nvrtcGetCUBINSize)(program.handle, &size);
  std::vector<char> code(size);
  (is_virtual ? c.nvrtcGetPTX : c.nvrtcGetCUBIN)(program.handle, code.data());
  return code;
}

std::vector<char> compile(const std::string& text, const std::string& architecture, const std::string& include) {
  std::string log;
  return compile(text, architecture, include, log);
}

}  // namespace cuda
}  // namespace kernops
