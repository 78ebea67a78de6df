// Distances and inner products of long vectors, for a tile of pairs at a time. A block of 16 x 8 threads takes 128
// rows and 8 C lanes; each thread takes 8 rows x C lanes of them, one entry of the vectors after another. A few entries
// at a time stand in shared memory, twice: while one set is used, the next is on its way.
//
// What is contracted comes as a struct of the generated text:
//   size                the length of the vectors
//   Rows, Lanes, Once   At<...>: the offsets of those that it reads, within the items of each place
//   entry(x, y, z, o)   one term, from one entry of each, and the values that are the same for all pairs
#pragma once
#include <kernops/device_job.h>
#include <kernops/values.cuh>

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

// How the terms of a contraction add up: one by one, exact wherever the origin is. An expanded distance, or tensor
// cores, would be another struct like this one.
template <class Terms> struct TermByTerm {
  template <class T> static KERNOPS_FN T start() { return T(0); }
  template <class T, class X, class Y, class Z, class O>
  static KERNOPS_FN void step(T& sum, const X& x, const Y& y, const Z& z, const O& o) {
    sum += Terms::entry(x, y, z, o).v[0];
  }
  template <class T> static KERNOPS_FN T finish(T sum) { return sum; }
};

// Which pairs a thread takes. Rows and lanes come in groups of 16 bytes, far apart, so that the threads of a warp (8
// groups of rows x 4 groups of lanes) read and write neighbouring groups: no bank conflicts.
template <class T, int C> struct PairTile {
  static constexpr int threads = 128, quad = 16 / sizeof(T), R = 8, rows = 16 * R, lanes = 8 * C;
  static constexpr int lane_quad = C < quad ? C : quad, depth = 64 / sizeof(T);
  static __device__ __forceinline__ int row_thread() { return threadIdx.x % 8 + threadIdx.x / 32 % 2 * 8; }
  static __device__ __forceinline__ int lane_thread() { return threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4; }
  static __device__ __forceinline__ int row(int r) { return (r / quad * 16 + row_thread()) * quad + r % quad; }
  static __device__ __forceinline__ int lane(int c) { return (c / lane_quad * 8 + lane_thread()) * lane_quad + c % lane_quad; }
};

// N neighbouring numbers, 1, 2 or 4, in one load.
template <int N, class T> struct alignas(N * sizeof(T)) Few { T v[N]; };
template <int N, class T> __device__ __forceinline__ Few<N, T> few(const T* from) { return *reinterpret_cast<const Few<N, T>*>(from); }

// A set of entries of one vector of each item: global memory -> registers -> shared memory, entry by entry.
template <class T, int items, int depth> struct Stage {
  static constexpr int threads = 128, quad = 16 / sizeof(T), quads = depth / quad, across = items < 16 ? items : 16;
  static constexpr int loads = (items * quads + threads - 1) / threads, stride = items + quad, entries = depth * stride;
  Few<quad, T> held[loads];

  static __device__ __forceinline__ int unit(int l) { return threadIdx.x + l * threads; }
  static __device__ __forceinline__ int item(int l) { return unit(l) % across + unit(l) / (across * quads) * across; }
  static __device__ __forceinline__ int entry(int l) { return unit(l) / across % quads * quad; }

  // From `first` on, of vectors that end at `size`; an item that does not exist is the first one again.
  __device__ __forceinline__ void fetch(const T* from, int item_stride, int count, int first, int size) {
    KERNOPS_UNROLL
    for (int l = 0; l < loads; ++l)
      if (item(l) < items && first + entry(l) < size)
        held[l] = few<quad>(from + (item(l) < count ? item(l) : 0) * (long long)item_stride + first + entry(l));
  }
  __device__ __forceinline__ void store(T* to) const {
    KERNOPS_UNROLL
    for (int l = 0; l < loads; ++l)
      KERNOPS_UNROLL
      for (int e = 0; e < quad; ++e)
        if (item(l) < items) to[(entry(l) + e) * stride + item(l)] = held[l].v[e];
  }
};

// Where the tile stands: its first row and lane, and how many of each there are.
template <class T> struct TilePlace {
  const T *once, *rows, *lanes;
  int row_stride, lane_stride, row_count, lane_count;
};

template <class T, int C, class Terms> struct Contractor {
  using Tile = PairTile<T, C>;
  using Rows = typename Terms::Rows;
  using Lanes = typename Terms::Lanes;
  using Once = typename Terms::Once;
  using Sum = TermByTerm<Terms>;
  using RowStage = Stage<T, Tile::rows, Tile::depth>;
  using LaneStage = Stage<T, Tile::lanes, Tile::depth>;
  static constexpr int buffer = Rows::count * RowStage::entries + Lanes::count * LaneStage::entries, shared = 2 * buffer;

  RowStage x[Rows::room];
  LaneStage y[Lanes::room];

  __device__ __forceinline__ void fetch(const TilePlace<T>& at, int first) {
    KERNOPS_UNROLL
    for (int n = 0; n < Rows::count; ++n) x[n].fetch(at.rows + Rows::nth(n), at.row_stride, at.row_count, first, Terms::size);
    KERNOPS_UNROLL
    for (int n = 0; n < Lanes::count; ++n) y[n].fetch(at.lanes + Lanes::nth(n), at.lane_stride, at.lane_count, first, Terms::size);
  }
  __device__ __forceinline__ void store(T* to) const {
    KERNOPS_UNROLL
    for (int n = 0; n < Rows::count; ++n) x[n].store(to + n * RowStage::entries);
    KERNOPS_UNROLL
    for (int n = 0; n < Lanes::count; ++n) y[n].store(to + Rows::count * RowStage::entries + n * LaneStage::entries);
  }

  // Entry k of what a buffer holds, entry `first` + k of the vectors.
  template <class O>
  static __device__ __forceinline__ void step(T (&sum)[Tile::R][C], const T* buffer, int k, const T* once, int first, const O& o) {
    Vec<T, Rows::room> x[Tile::R];
    Vec<T, Lanes::room> y[C];
    Vec<T, Once::room> z;
    KERNOPS_UNROLL
    for (int n = 0; n < Rows::count; ++n)
      KERNOPS_UNROLL
      for (int r = 0; r < Tile::R; r += Tile::quad) {
        const auto some = few<Tile::quad>(buffer + n * RowStage::entries + k * RowStage::stride + Tile::row(r));
        KERNOPS_UNROLL
        for (int e = 0; e < Tile::quad; ++e) x[r + e].v[n] = some.v[e];
      }
    buffer += Rows::count * RowStage::entries;
    KERNOPS_UNROLL
    for (int n = 0; n < Lanes::count; ++n)
      KERNOPS_UNROLL
      for (int c = 0; c < C; c += Tile::lane_quad) {
        const auto some = few<Tile::lane_quad>(buffer + n * LaneStage::entries + k * LaneStage::stride + Tile::lane(c));
        KERNOPS_UNROLL
        for (int e = 0; e < Tile::lane_quad; ++e) y[c + e].v[n] = some.v[e];
      }
    KERNOPS_UNROLL
    for (int n = 0; n < Once::count; ++n) z.v[n] = once[Once::nth(n) + first + k];
    KERNOPS_UNROLL
    for (int r = 0; r < Tile::R; ++r)
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) Sum::step(sum[r][c], x[r], y[c], z, o);
  }

  template <class O>
  __device__ __forceinline__ void run(T (&sum)[Tile::R][C], const TilePlace<T>& at, const O& o, T* shared) {
    KERNOPS_UNROLL
    for (int r = 0; r < Tile::R; ++r)
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) sum[r][c] = Sum::template start<T>();
    fetch(at, 0);
    store(shared);
    __syncthreads();
    T *now = shared, *next = shared + buffer;
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < Terms::size; first += Tile::depth) {
      const bool more = first + Tile::depth < Terms::size;
      const int depth = more ? Tile::depth : Terms::size - first;
      if (more) fetch(at, first + Tile::depth);
      KERNOPS_UNROLL_BY(2)
      for (int k = 0; k < depth; ++k) step(sum, now, k, at.once, first, o);
      if (more) store(next);
      __syncthreads();
      T* const used = now;
      now = next, next = used;
    }
    KERNOPS_UNROLL
    for (int r = 0; r < Tile::R; ++r)
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) sum[r][c] = Sum::finish(sum[r][c]);
  }
};

// The values of all contractions for a tile: that of number n, lane and row stands at (n * lanes + lane) * rows + row.
template <class T, int C, class Contractions> struct TileValues;
template <class T, int C, class... Terms> struct TileValues<T, C, List<Terms...>> {
  using Tile = PairTile<T, C>;
  static constexpr int count = sizeof...(Terms), values = (count > 0 ? count : 1) * Tile::lanes * Tile::rows;
  static KERNOPS_FN constexpr int most(int a, int b) { return a > b ? a : b; }
  static KERNOPS_FN constexpr int room() {
    int all = values;
    ((all = most(all, Contractor<T, C, Terms>::shared)), ...);
    return all;
  }

  template <class O> static __device__ __forceinline__ void compute(const TilePlace<T>& at, const O& o, T* shared) {
    T sums[count > 0 ? count : 1][Tile::R][C];
    int n = 0;
    (Contractor<T, C, Terms>().run(sums[n++], at, o, shared), ...);
    KERNOPS_UNROLL
    for (int i = 0; i < count; ++i)
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c)
        KERNOPS_UNROLL
        for (int r = 0; r < Tile::R; r += Tile::quad) {
          Few<Tile::quad, T> some;
          KERNOPS_UNROLL
          for (int e = 0; e < Tile::quad; ++e) some.v[e] = sums[i][r + e][c];
          *reinterpret_cast<Few<Tile::quad, T>*>(shared + (i * Tile::lanes + Tile::lane(c)) * Tile::rows + Tile::row(r)) = some;
        }
    __syncthreads();
  }
  static __device__ __forceinline__ Vec<T, (count > 0 ? count : 1)> of(const T* shared, int lane, int row) {
    Vec<T, (count > 0 ? count : 1)> all;
    KERNOPS_UNROLL
    for (int i = 0; i < count; ++i) all.v[i] = shared[(i * Tile::lanes + lane) * Tile::rows + row];
    return all;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
