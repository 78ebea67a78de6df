// Data that a backend keeps between calls, such as a copy on a device. The object that owns the original data owns the
// cache, too.
#pragma once
#include <memory>

namespace kernops {

// The base class of the caches of all backends.
struct BackendCache {
  virtual ~BackendCache() = default;
};

}  // namespace kernops
