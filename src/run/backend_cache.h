// The state of a backend beside data between calls, such as a copy on a device; the owner of the data owns the cache.
#pragma once
#include <memory>

namespace kernops {

// Each backend derives classes of its own.
struct BackendCache {
  virtual ~BackendCache() = default;
};

}  // namespace kernops
