// Aligned memory. std::vector is not used, because the linker would share its code between instruction sets.
#pragma once
#include <kernops/simd/isa.h>

#include <new>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> class Buffer {
 public:
  explicit Buffer(std::size_t n) : data_(static_cast<T*>(::operator new(n * sizeof(T) + 64, std::align_val_t(64)))) {}
  ~Buffer() { ::operator delete(data_, std::align_val_t(64)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }

 private:
  T* data_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
