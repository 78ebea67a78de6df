// Batches of entries of long vectors, for sums that are computed one batch at a time (cuda/wide/vector_sum.cuh), and
// the entries of the columns' vectors in shared memory.
#pragma once
#include <kernops/cuda/wide/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// A batch of entries, which is divided into runs. Four threads share a run. Each thread holds the totals of some units
// of 16 bytes; the units of thread j follow the units of thread j - 1.
template <class T, int some_units, int some_runs> struct EntryBatch {
  static constexpr int unit = 16 / sizeof(T), units = some_units, own = units * unit, run = 4 * own, runs = some_runs,
                       size = runs * run;
  static __device__ __forceinline__ int first(int q) { return q * run + threadIdx.x % 4 * own; }
};

// A batch of entries of the columns' vectors, in shared memory. Unit u (16 bytes) of a column is at slot(column, u) of
// a run. A warp reads the same run of 4 columns (every second of 8 columns), and each lane reads an eighth of the run
// of one column. With this layout, these reads have no bank conflicts.
template <class T, int columns, class S> struct ColumnEntries {
  static constexpr int units = 4 * S::units, eighth = S::run / 8;
  alignas(16) T v[S::size * columns];

  static __device__ __forceinline__ int slot(int column, int u) {
    return (u / 4 * columns / 2 + column / 2) * 8 + ((column % 2 * 4 + u % 4) ^ column / 2 % 4 * 2);
  }
  static __device__ __forceinline__ int place(int run, int column, int u) {
    return (run * columns * units + slot(column, u)) * S::unit;
  }
  __device__ __forceinline__ Few<eighth, T> part(int run, int column, int n) const {
    return few<eighth>(v + place(run, column, n * eighth / S::unit) + n * eighth % S::unit);
  }
  // Calls each(address of the unit, column, first entry of the unit within the batch) for each unit that this thread
  // loads. A thread loads one of every 4 units, in every 32nd column.
  template <class Each> __device__ __forceinline__ void own_units(Each each) {
    KERNOPS_UNROLL
    for (int column = threadIdx.x / 4; column < columns; column += 32)
      KERNOPS_EACH(four, S::units * S::runs) {
        const int run = four / S::units, u = four % S::units * 4 + threadIdx.x % 4;
        each(v + place(run, column, u), column, run * S::run + u * S::unit);
      }
  }

  // Loads the entries of the batch, which begins at entry `base`. Entries from entry `end` on, and columns after the
  // last column, become zeros.
  __device__ __forceinline__ void send(const TilePlace<T>& at, int offset, int base, int end) {
    own_units([&](T* to, int column, int entry) {
      const int left = column < at.column_count ? (end - base - entry) * int(sizeof(T)) : 0;
      const T* from = at.columns + offset + (column < at.column_count ? column : 0) * (long long)at.column_stride;
      kernops::send(to, from + base + entry, left > 16 ? 16 : left < 0 ? 0 : left);
    });
  }
  // Changes the entries that this thread has loaded: subtracts the centre if there is a centre, and multiplies by the
  // square roots of the weights of coordinates if there are weights. Returns 0 if all entries are finite, and otherwise
  // NaN.
  template <class Terms> __device__ __forceinline__ T take_centre(const T* once, int base) {
    T check = 0;
    own_units([&](T* there, int, int entry) {
      KERNOPS_EACH(e, S::unit) {
        const int k = base + entry + e;
        if (Terms::centre >= 0 && k < Terms::size) there[e] -= once[Terms::centre + k];
        if (Terms::roots >= 0 && k < Terms::size) there[e] *= once[Terms::roots + k];
        check += there[e] * T(0);
      }
    });
    return check;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
