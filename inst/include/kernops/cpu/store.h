// Stores every value of f. The values of a tile belong to consecutive columns and are contiguous in the result; this
// accumulator has no state, and its merge function is empty.
#pragma once
#include <kernops/cpu/tiles.h>

#include <cstring>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T> struct StoreValues {
  static constexpr bool is_sum = false;
  static std::size_t state_bytes(const Job&) { return 0; }
  static std::size_t partial_bytes(const Job&) { return 0; }
  static void start(const Job&, char*) {}
  static void collapse(const Job&, const char*, const TileColumns&, char*) {}
  static void merge(const Job&, char*, const char*) {}
  static void finish(const Job&, const char*, bool, double*) {}

  static void add(const Job& job, char*, const Operand<T>& f, const Operand<T>&, const TileColumns& tile, T*) {
    double* out = job.out + tile.row * job.out_row;
    for_runs(job, *tile.block, tile.base + tile.first, tile.count, [&](Count column, int count, int at) {
      for (int k = 0; k < job.f_size; ++k)
        copy(f.p + k * f.entry, f.lanes, at, count, out + k * job.out_entry + column);
    });
  }

  // A value that is the same for all columns is stored once.
  static void copy(const T* from, std::ptrdiff_t lanes, int at, int count, double* to) {
    if (lanes == 0)
      for (int n = 0; n < count; ++n) to[n] = double(from[0]);
    else if (sizeof(T) == sizeof(double))
      std::memcpy(to, from + at, std::size_t(count) * sizeof(double));
    else
      for (int n = 0; n < count; ++n) to[n] = double(from[at + n]);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
