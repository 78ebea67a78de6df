// Opens shared libraries of the NVIDIA driver and the CUDA toolkit at run time. On systems without dlopen(), no library
// is found.
#pragma once
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace kernops {
namespace cuda {

void* open_library(const std::string& name);                        // null if there is no library with this name
void* open_toolkit_library(const std::vector<std::string>& names);  // opens the first of these libraries that exists
void* find_symbol(void* library, const char* name);

template <class F> void find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(find_symbol(library, name));
  if (!function) throw CudaError(std::string("the CUDA library has no function ") + name + ": it is too old");
}

// Returns true if open() does not throw CudaError.
template <class F> bool opens(F open) {
  try {
    open();
    return true;
  } catch (const CudaError&) {
    return false;
  }
}

// Returns true if the driver is too old to load code that the newest CUDA major version compiles. For such a driver, an
// older toolkit is preferred.
bool driver_is_old();

}  // namespace cuda
}  // namespace kernops
