// A tile of rows and 8 C columns that a block of 128 or 256 threads processes: the pairs of each thread, and the
// transfer of vector entries to shared memory, a few entries at a time.
#pragma once
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <int... offsets> struct At {
  static constexpr int count = sizeof...(offsets), room = count > 0 ? count : 1;
  static KERNOPS_FN constexpr int nth(int n) {
    const int all[] = {offsets..., 0};
    return all[n];
  }
};
template <class... Contractions> struct List {
  static constexpr int count = sizeof...(Contractions), room = count > 0 ? count : 1;
};

// An atom is the hardware or the number format that multiplies long vectors. wide/tensor_numbers.cuh has the number
// formats of tensor cores. Plain: ordinary arithmetic, term by term. Warpgroups: tensor cores, used by groups of four
// warps.
struct Plain {};
struct Warpgroups {};

// The parameters of the main loop over tiles, which cuda/pairs/choose.cpp chooses: the atom, the number of rows per
// thread, C for tiles of 8 C columns, and the number of warp groups that share the same rows (0 if warps multiply
// separately).
template <class Atom_, int rows_, int C_, int warpgroups_ = 0> struct Wide {
  using Atom = Atom_;
  static constexpr int rows = rows_, C = C_, warpgroups = warpgroups_, threads = warpgroups ? 256 : 128,
                       sharing = warpgroups == 2 ? 2 : 1;
  static_assert(SameType<Atom, Warpgroups>::value == (warpgroups > 0), "these alone have groups");
  template <int some> using With = Wide<Atom, rows, some, warpgroups>;
};

template <int n> struct Number { static constexpr int value = n; };

// The pairs of a thread during contraction. A thread has groups of adjacent rows, and groups of adjacent columns; a
// group takes 16 bytes. The groups of a thread are far apart. The threads of a warp (8 groups of rows x 4 groups of
// columns) access neighbouring groups, without bank conflicts.
template <class T, class L> struct PairTile {
  static constexpr int threads = L::threads, quad = 16 / sizeof(T), rows = threads / 4 * L::rows / L::sharing,
                       columns = 8 * L::C, R = rows / 16, column_threads = threads / 16,
                       own_columns = columns / column_threads;
  static constexpr int column_quad = own_columns < quad ? own_columns : quad, depth = 64 / sizeof(T);
  static constexpr int stride = rows + quad;  // distance between the values of successive columns in shared memory
  static __device__ __forceinline__ int row_thread() { return threadIdx.x % 8 + threadIdx.x / 32 % 2 * 8; }
  static __device__ __forceinline__ int column_thread() { return threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4; }
  static __device__ __forceinline__ int row(int r) { return (r / quad * 16 + row_thread()) * quad + r % quad; }
  static __device__ __forceinline__ int column(int c) {
    return (c / column_quad * column_threads + column_thread()) * column_quad + c % column_quad;
  }
};

// The pairs of a thread after contraction, in the layout of tensor cores. Each warp has 8 * L::rows rows and all
// columns. Lane 4 i + j of the warp has every eighth row from row i on, and columns 2 j and 2 j + 1 of every 8 columns.
template <class L> struct OwnPairs {
  static constexpr int rows = L::rows, columns = 2 * L::C,
                       sharing = 4;  // number of adjacent threads that share the same rows
  static __device__ __forceinline__ int warp() { return L::sharing == 2 ? threadIdx.x / 32 % 4 : threadIdx.x / 32; }
  static __device__ __forceinline__ int i() { return threadIdx.x % 32 / 4; }
  static __device__ __forceinline__ int j() { return threadIdx.x % 4; }
  static __device__ __forceinline__ int row(int r) { return warp() * (8 * rows) + 8 * r + i(); }
  static __device__ __forceinline__ int column(int n) { return n / 2 * 8 + 2 * j() + n % 2; }
};

template <class T> __device__ __forceinline__ void swap(T& a, T& b) {
  const T kept = a;
  a = b, b = kept;
}

// The values of one contraction for the pairs of a thread.
template <class T, class L> struct Contracted { T v[OwnPairs<L>::rows][OwnPairs<L>::columns]; };

// N neighbouring numbers (1, 2 or 4), loaded at once.
template <int N, class T> struct alignas(N * sizeof(T)) Few { T v[N]; };
template <int N, class T> __device__ __forceinline__ Few<N, T> few(const T* from) {
  return *reinterpret_cast<const Few<N, T>*>(from);
}

// Copies some entries of one vector of each item (row or column): first from global memory to registers, and then from
// registers to shared memory.
template <class T, int threads, int items, int depth> struct Stage {
  static constexpr int quad = 16 / sizeof(T), quads = depth / quad, across = items < 16 ? items : 16;
  static constexpr int loads = (items * quads + threads - 1) / threads, stride = items + 4, entries = depth * stride;
  Few<quad, T> held[loads];

  static __device__ __forceinline__ int unit(int l) { return threadIdx.x + l * threads; }
  static __device__ __forceinline__ int item(int l) { return unit(l) % across + unit(l) / (across * quads) * across; }
  static __device__ __forceinline__ int entry(int l) { return unit(l) / across % quads * quad; }

  // Loads entries from entry `first` on; vectors have `size` entries. Items after the last item are replaced by the
  // first item.
  __device__ __forceinline__ void fetch(const T* from, int item_stride, int count, int first, int size) {
    KERNOPS_EACH(l, loads)
      if (item(l) < items && first + entry(l) < size)
        held[l] = few<quad>(from + (item(l) < count ? item(l) : 0) * (long long)item_stride + first + entry(l));
  }
  __device__ __forceinline__ void store(T* to) const {
    KERNOPS_EACH(l, loads)
      KERNOPS_EACH(e, quad)
        if (item(l) < items) to[(entry(l) + e) * stride + item(l)] = held[l].v[e];
  }
};

// A tile: the addresses of its first row and first column, the strides, and the numbers of rows and columns.
template <class T> struct TilePlace {
  const T *once, *rows, *columns;
  int row_stride, column_stride, row_count, column_count;
};

// Copies 16 bytes to shared memory asynchronously: reads the first `bytes` bytes and sets the remaining bytes to 0.
template <class T> __device__ __forceinline__ void send(T* to, const T* from, int bytes) {
#if __CUDA_ARCH__ >= 800
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
#else
  KERNOPS_EACH(e, int(16 / sizeof(T))) to[e] = e * int(sizeof(T)) < bytes ? from[e] : T(0);
#endif
}
// Waits until all asynchronous copies of this thread are complete. If `by_warpgroups` is true, the data are also
// visible to the tensor cores of warp groups, which read shared memory directly.
template <bool by_warpgroups = false> __device__ __forceinline__ void wait_for_sent() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (by_warpgroups) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// A buffer in shared memory. Entry `first` + k of vector n of a row is at rows[n * RowStage::entries + k *
// RowStage::stride + row]. Columns have the same layout.
template <class T> struct Buffer {
  const T *rows, *columns, *once;
  int first, depth;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
