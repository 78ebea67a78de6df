// Device memory with copies of numbers from the host.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {

// An array of numbers or structs on the current device. Numbers are converted to T when they are copied to the array.
template <class T> class Copied {
 public:
  // Allocates memory for `count` numbers.
  explicit Copied(size_t count) : count_(count), there_(count * sizeof(T)) {}
  // Allocates the array and copies `count` numbers from the host; copies nothing if `from` is null.
  template <class From> Copied(const From* from, size_t count) : Copied(count) { put(0, from, count); }

  template <class From> void put(size_t at, const From* from, size_t count, double less = 0) const {
    if (!from) return;
    if constexpr (std::is_same<From, T>::value) {
      if (less == 0) return copy_in(there_.pointer() + at * sizeof(T), from, count * sizeof(T));
    }
    if constexpr (std::is_arithmetic<T>::value) convert(at, from, count, less);
  }
  T* data() const { return count_ ? static_cast<T*>(there_.address()) : nullptr; }
  // Returns the address that element 0 would have if the first element of the array had the index `first`.
  T* data_from(Count first) const { return reinterpret_cast<T*>(there_.pointer() - size_t(first) * sizeof(T)); }
  void copy_to(T* to) const { copy_out(to, there_.pointer(), count_ * sizeof(T)); }

 private:
  template <class From> void convert(size_t at, const From* from, size_t count, double less) const {
    constexpr size_t most = size_t(1) << 20;  // number of values that are converted at a time
    std::vector<T> some(std::min(most, count));
    for (size_t done = 0; done < count; done += most) {
      const size_t now = std::min(most, count - done);
      for (size_t n = 0; n < now; ++n) some[n] = T(from[done + n] - less);
      copy_in(there_.pointer() + (at + done) * sizeof(T), some.data(), now * sizeof(T));
    }
  }

  size_t count_;
  Buffer there_;
};

}  // namespace cuda
}  // namespace kernops
