// libnvrtc.so of the emulator: g++ compiles a kernel's text to a shared library. device.h and the driver are in the
// same folder.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "faults.h"

namespace {

struct Program {
  std::string text, log, binary;
};
Program& of(void* handle) { return *static_cast<Program*>(handle); }

std::string contents(const std::string& file) {
  std::ostringstream all;
  all << std::ifstream(file, std::ios::binary).rdbuf();
  return all.str();
}

std::string here() {
  Dl_info info;
  dladdr(reinterpret_cast<void*>(&here), &info);
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/'));
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0; }
EXPORT const char* nvrtcGetErrorString(int result) { return result ? "g++ failed" : "no error"; }
EXPORT int nvrtcCreateProgram(void** handle, const char* text, const char*, int, const char* const*,
                              const char* const*) {
  return *handle = new Program{text, "", ""}, 0;
}
EXPORT int nvrtcCompileProgram(void* handle, int count, const char* const* options) {
  Program& program = of(handle);
  if (emulator_fails(fault_compilation)) return program.log = "the emulator was told to fail", 6;
  std::string include;
  for (int n = 0; n < count; ++n)
    if (!std::strncmp(options[n], "--include-path=", 15)) include = options[n] + 15;
  char folder[] = "/tmp/kernops-emulator-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  const std::string base = folder, source = base + "/kernel.cpp", library = base + "/kernel.so", log = base + "/log";
  std::ofstream(source) << program.text;
  // libraries must not share static variables of templates, because different formulas use the same names; data read 16
  // bytes at a time must be aligned to 16 bytes, as on a GPU
  const std::string flags =
      " -std=c++17 -O1 -w -fPIC -shared -fno-gnu-unique -fno-strict-aliasing"
      " -fsanitize=alignment -fno-sanitize-recover=alignment";
  const std::string command = "${CXX:-g++}" + flags + " -I'" + include + "' -include '" + here() + "/device.h' '" +
                              source + "' '" + here() + "/libcuda.so.1' -o '" + library + "' 2> '" + log + "'";
  const int result = std::system(command.c_str());
  program.binary = contents(library), program.log = contents(log);
  for (const auto& file : {source, library, log}) unlink(file.c_str());
  rmdir(folder);
  return result != 0;
}
EXPORT int nvrtcGetProgramLogSize(void* handle, size_t* size) { return *size = of(handle).log.size() + 1, 0; }
EXPORT int nvrtcGetProgramLog(void* handle, char* log) { return std::strcpy(log, of(handle).log.c_str()), 0; }
EXPORT int nvrtcGetCUBINSize(void* handle, size_t* size) { return *size = of(handle).binary.size(), 0; }
EXPORT int nvrtcGetCUBIN(void* handle, char* binary) {
  return std::memcpy(binary, of(handle).binary.data(), of(handle).binary.size()), 0;
}
// Code for a virtual architecture is stored like any other code.
EXPORT int nvrtcGetPTXSize(void* handle, size_t* size) { return nvrtcGetCUBINSize(handle, size); }
EXPORT int nvrtcGetPTX(void* handle, char* code) { return nvrtcGetCUBIN(handle, code); }
EXPORT int nvrtcDestroyProgram(void** handle) { return delete static_cast<Program*>(*handle), 0; }
