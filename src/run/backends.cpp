// The list of backends, and functions that choose one.
#include <algorithm>
#include <stdexcept>

#include "run/backend.h"

namespace kernops {

#define BACKEND(name)       \
  namespace name {          \
  const Backend& backend(); \
  }
#include "run/backends.def"

const std::vector<const Backend*>& backends() {
  static const std::vector<const Backend*> all = {
#define BACKEND(name) &name::backend(),
#include "run/backends.def"
  };
  return all;
}

const Backend& cpu_backend() { return *backends().back(); }

const Backend* backend_named(const std::string& name) {
  if (name == "auto") return nullptr;
  for (const Backend* backend : backends())
    if (backend->name() == name) return backend;
  throw std::invalid_argument("there is no backend \"" + name + "\"");
}

size_t number_of(const Backend& backend) {
  return size_t(std::find(backends().begin(), backends().end(), &backend) - backends().begin());
}

const Backend& choose_backend(const Backend* wanted, std::initializer_list<MemorySpace> spaces, double work) {
  for (const MemorySpace space : spaces) {
    if (space == MemorySpace::host || (wanted && wanted->holds(space))) continue;
    if (wanted)
      throw std::invalid_argument("the backend \"" + wanted->name() + "\" cannot read a gpu_matrix: \"auto\" runs " +
                                  "where the data are; as.matrix() copies them back");
    for (const Backend* backend : backends())
      if (backend->holds(space)) return *backend;
  }
  if (wanted) return *wanted;
  return **std::find_if(backends().begin(), backends().end(), [&](const Backend* b) { return b->pays_off(work); });
}

}  // namespace kernops
