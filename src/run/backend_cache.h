// The data of a backend that outlive a call, such as a copy on a device; the owner of the original data owns the cache.
#pragma once
#include <memory>

namespace kernops {

// Each backend derives its classes from it.
struct BackendCache {
  virtual ~BackendCache() = default;
};

}  // namespace kernops
