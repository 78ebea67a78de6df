// Memory in large pages for arrays that are written completely, such as large results.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace kernops {

// Requests large pages from the system: with pages of 4 KB, the first access to 40 MB may take longer than reducing 80
// MB.
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

// Returns freed memory to the system. Without this call, the C library keeps the memory of millions of small blocks.
inline void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// An allocator that leaves elements uninitialised, so that the threads that write the elements are the first to access
// the pages.
template <class T> struct UnsetAllocator : std::allocator<T> {
  template <class U> struct rebind { using other = UnsetAllocator<U>; };
  T* allocate(std::size_t n) { return static_cast<T*>(in_huge_pages(std::allocator<T>::allocate(n), n * sizeof(T))); }
  template <class U> void construct(U* at) { ::new (static_cast<void*>(at)) U; }
  template <class U, class... Arguments> void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <class T> using LargeVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace kernops
