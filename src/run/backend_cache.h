// The data of a backend that outlive a call, such as a copy on a device. The owner of the original data owns the cache.
#pragma once
#include <memory>

namespace kernops {

// Each backend derives its cache classes from this one.
struct BackendCache {
  virtual ~BackendCache() = default;
};

}  // namespace kernops
