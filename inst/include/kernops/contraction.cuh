// Distances and inner products of long vectors, for a tile of pairs at a time. A block of 16 x 8 threads
// takes 128 rows and 8 C lanes; each thread takes 8 rows x C lanes of them, one entry of the vectors after
// another. A few entries at a time stand in shared memory, twice: while one set is used, the next is on its
// way.
//
// What is contracted comes as a struct of the generated text:
//   size                the length of the vectors
//   Rows, Lanes, Once   At<...>: the offsets of those that it reads, within the items of each place
//   entry(x, y, z, o)   one term, from one entry of each, and the values that are the same for all pairs
//   is_product          whether that is x times y, one vector each
#pragma once
#include <kernops/tensor_cores.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Sums term by term: each thread has 8 rows x C lanes.
template <class T, int C, class Terms> struct TermByTerm {
  using Tile = PairTile<T, C>;
  using Rows = typename Terms::Rows;
  using Lanes = typename Terms::Lanes;
  using Once = typename Terms::Once;
  using RowStage = Stage<T, Tile::rows, Tile::depth>;
  using LaneStage = Stage<T, Tile::lanes, Tile::depth>;
  T sum[Tile::R][C];

  __device__ __forceinline__ void start() {
    KERNOPS_UNROLL
    for (int r = 0; r < Tile::R; ++r) KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) sum[r][c] = 0;
  }
  template <class O> __device__ __forceinline__ void add(const Buffer<T>& buffer, const O& o) {
    KERNOPS_UNROLL_BY(2)
    for (int k = 0; k < buffer.depth; ++k) {
      Vec<T, Rows::room> x[Tile::R];
      Vec<T, Lanes::room> y[C];
      Vec<T, Once::room> z;
      KERNOPS_UNROLL
      for (int n = 0; n < Rows::count; ++n) KERNOPS_UNROLL
      for (int r = 0; r < Tile::R; r += Tile::quad) {
        const auto some = few<Tile::quad>(buffer.rows + n * RowStage::entries + k * RowStage::stride + Tile::row(r));
        KERNOPS_UNROLL
        for (int e = 0; e < Tile::quad; ++e) x[r + e].v[n] = some.v[e];
      }
      KERNOPS_UNROLL
      for (int n = 0; n < Lanes::count; ++n) KERNOPS_UNROLL
      for (int c = 0; c < C; c += Tile::lane_quad) {
        const auto some =
            few<Tile::lane_quad>(buffer.lanes + n * LaneStage::entries + k * LaneStage::stride + Tile::lane(c));
        KERNOPS_UNROLL
        for (int e = 0; e < Tile::lane_quad; ++e) y[c + e].v[n] = some.v[e];
      }
      KERNOPS_UNROLL
      for (int n = 0; n < Once::count; ++n) z.v[n] = buffer.once[Once::nth(n) + buffer.first + k];
      KERNOPS_UNROLL
      for (int r = 0; r < Tile::R; ++r) KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) sum[r][c] += Terms::entry(x[r], y[c], z, o).v[0];
    }
  }
  __device__ __forceinline__ void put(T* values) const {
    KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) KERNOPS_UNROLL
    for (int r = 0; r < Tile::R; r += Tile::quad) {
      Few<Tile::quad, T> some;
      KERNOPS_UNROLL
      for (int e = 0; e < Tile::quad; ++e) some.v[e] = sum[r + e][c];
      *reinterpret_cast<Few<Tile::quad, T>*>(values + Tile::lane(c) * Tile::stride + Tile::row(r)) = some;
    }
  }
};

template <bool tensor, class T, int C, class Terms> struct SumsOf { using type = TermByTerm<T, C, Terms>; };
template <int C, class Terms> struct SumsOf<true, double, C, Terms> { using type = ByTensorCores<C, Terms>; };

template <class T, int C, class Terms> struct Contractor {
  using Tile = PairTile<T, C>;
  using Rows = typename Terms::Rows;
  using Lanes = typename Terms::Lanes;
  using Sums = typename SumsOf<Terms::is_product && fast_tensor_cores, T, C, Terms>::type;
  using RowStage = Stage<T, Tile::rows, Tile::depth>;
  using LaneStage = Stage<T, Tile::lanes, Tile::depth>;
  static constexpr int of_rows = Rows::count * RowStage::entries, buffer = of_rows + Lanes::count * LaneStage::entries,
                       shared = 2 * buffer;

  RowStage x[Rows::room];
  LaneStage y[Lanes::room];

  __device__ __forceinline__ void fetch(const TilePlace<T>& at, int first) {
    KERNOPS_UNROLL
    for (int n = 0; n < Rows::count; ++n)
      x[n].fetch(at.rows + Rows::nth(n), at.row_stride, at.row_count, first, Terms::size);
    KERNOPS_UNROLL
    for (int n = 0; n < Lanes::count; ++n)
      y[n].fetch(at.lanes + Lanes::nth(n), at.lane_stride, at.lane_count, first, Terms::size);
  }
  __device__ __forceinline__ void store(T* to) const {
    KERNOPS_UNROLL
    for (int n = 0; n < Rows::count; ++n) x[n].store(to + n * RowStage::entries);
    KERNOPS_UNROLL
    for (int n = 0; n < Lanes::count; ++n) y[n].store(to + of_rows + n * LaneStage::entries);
  }

  template <class O>
  __device__ __forceinline__ void run(Sums& sums, const TilePlace<T>& at, const O& o, T* shared) {
    sums.start();
    fetch(at, 0);
    store(shared);
    __syncthreads();
    T *now = shared, *next = shared + buffer;
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < Terms::size; first += Tile::depth) {
      const bool more = first + Tile::depth < Terms::size;
      if (more) fetch(at, first + Tile::depth);
      sums.add(Buffer<T>{now, now + of_rows, at.once, first, more ? Tile::depth : Terms::size - first}, o);
      if (more) store(next);
      __syncthreads();
      T* const used = now;
      now = next, next = used;
    }
  }
};

// All contractions for a tile: the value of number n for a lane and a row stands at (n * lanes + lane) * stride + row.
template <class T, int C, class... Terms> struct AllSums {
  template <class O> __device__ __forceinline__ void run(const TilePlace<T>&, const O&, T*) {}
  __device__ __forceinline__ void put(T*) const {}
};
template <class T, int C, class First, class... Rest> struct AllSums<T, C, First, Rest...> {
  typename Contractor<T, C, First>::Sums first;
  AllSums<T, C, Rest...> rest;
  template <class O> __device__ __forceinline__ void run(const TilePlace<T>& at, const O& o, T* shared) {
    Contractor<T, C, First>().run(first, at, o, shared);
    rest.run(at, o, shared);
  }
  __device__ __forceinline__ void put(T* values) const {
    first.put(values);
    rest.put(values + PairTile<T, C>::lanes * PairTile<T, C>::stride);
  }
};

template <class T, int C, class Contractions> struct TileValues;
template <class T, int C, class... Terms> struct TileValues<T, C, List<Terms...>> {
  using Tile = PairTile<T, C>;
  static constexpr int count = sizeof...(Terms), some = count > 0 ? count : 1;
  static KERNOPS_FN constexpr int most(int a, int b) { return a > b ? a : b; }
  static KERNOPS_FN constexpr int room() {
    int all = some * Tile::lanes * Tile::stride;
    ((all = most(all, Contractor<T, C, Terms>::shared)), ...);
    return all;
  }

  template <class O>
  static __device__ __forceinline__ void compute(const TilePlace<T>& at, const O& o, T* shared) {
    AllSums<T, C, Terms...> sums;
    sums.run(at, o, shared);
    sums.put(shared);
    __syncthreads();
  }
  static __device__ __forceinline__ Vec<T, some> of(const T* shared, int lane, int row) {
    Vec<T, some> all;
    KERNOPS_UNROLL
    for (int i = 0; i < count; ++i) all.v[i] = shared[(i * Tile::lanes + lane) * Tile::stride + row];
    return all;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
