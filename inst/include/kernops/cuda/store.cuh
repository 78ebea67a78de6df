// Stores every value of f (the formula) on the GPU; the counterpart of cpu/store.h. The threads of neighbouring rows
// write to adjacent addresses.
#pragma once
#include <kernops/jobs/device.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The state of a row is the address of its result, or null after the last row.
template <class T, int F> struct StoreRow {
  static constexpr int group = 1, resident = 0;
  static constexpr bool any_order = true, adds_tiles = false;
  double* out;
  long long entry, column;

  KERNOPS_FN void start() { out = nullptr; }
  template <int N, int NF, int NW>
  KERNOPS_FN void add(const Vec<T, NF> (&f)[N], const Vec<T, NW> (&)[N], int j, int n) {
    if (!out) return;
    KERNOPS_EACH(u, N) {
      if (u >= n) break;
      KERNOPS_EACH_FEW(k, F) out[k * entry + (j + u) * column] = double(f[u][k]);
    }
  }
  KERNOPS_FN void settle() {}
  KERNOPS_FN void adopt(int) {}
  KERNOPS_FN void absorb(const StoreRow&) {}
  KERNOPS_FN void scale(T) {}
  KERNOPS_FN void merge(const StoreRow&) {}
  KERNOPS_FN void finish(double*, long long, bool) {}
};

// Initialises the state of a row before the first pair of this row.
template <class Row> __device__ __forceinline__ void start_row(Row& state, const PairJob&, long long, bool) {
  state.start();
}
template <class T, int F>
__device__ __forceinline__ void start_row(StoreRow<T, F>& state, const PairJob& job, long long row, bool exists) {
  state.out = exists ? job.out + row * job.out_row : nullptr;
  state.entry = job.out_entry, state.column = job.out_column;
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
