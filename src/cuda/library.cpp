#include "cuda/library.h"

#include <cstdlib>

#ifndef _WIN32
#include <dlfcn.h>
#endif

namespace kernops {
namespace cuda {

#ifdef _WIN32
void* open_library(const std::string&) { return nullptr; }
void* find_symbol(void*, const char*) { return nullptr; }
#else
void* open_library(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }
void* find_symbol(void* library, const char* name) { return dlsym(library, name); }
#endif

void* open_toolkit_library(const std::vector<std::string>& names) {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable))
      if (home[0] == '/')  // a relative path could load a library from the working directory
        for (const char* folder : {"/lib64/", "/lib/"}) folders.push_back(std::string(home) + folder);
  folders.insert(folders.end(), {"", "/usr/local/cuda/lib64/"});
  for (const std::string& folder : folders)
    for (const std::string& name : names)
      if (void* library = open_library(folder + name)) return library;
  return nullptr;
}

bool driver_is_old() {
  try {
    return driver_version() / 1000 < 13;
  } catch (const CudaError&) {  // without a driver, kernels can still be compiled for other machines
    return false;
  }
}

}  // namespace cuda
}  // namespace kernops
