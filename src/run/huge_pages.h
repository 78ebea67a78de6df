// Memory that will be written as a whole, such as a large result.
#pragma once
#include <cstddef>
#include <cstdint>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace kernops {

// Asks for large pages: to touch 40 MB for the first time in pages of 4 KB may take longer than to reduce 80 MB.
inline void* in_huge_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t page = 4096, worth = 1 << 22;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
  if (bytes >= worth) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
  (void)bytes;
  return memory;
}

}  // namespace kernops
