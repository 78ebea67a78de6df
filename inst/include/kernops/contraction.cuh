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

// Which pairs a thread takes. Rows and lanes come in groups of 16 bytes, far apart, so that the threads of a
// warp (8 groups of rows x 4 groups of lanes) read and write neighbouring groups: no bank conflicts.
template <class T, int C> struct PairTile {
  static constexpr int threads = 128, quad = 16 / sizeof(T), R = 8, rows = 16 * R, lanes = 8 * C;
  static constexpr int lane_quad = C < quad ? C : quad, depth = 64 / sizeof(T);
  static constexpr int stride = rows + quad;  // from the values of a lane to those of the next, in shared memory
  static __device__ __forceinline__ int row_thread() { return threadIdx.x % 8 + threadIdx.x / 32 % 2 * 8; }
  static __device__ __forceinline__ int lane_thread() { return threadIdx.x / 8 % 4 + threadIdx.x / 64 * 4; }
  static __device__ __forceinline__ int row(int r) {
    return (r / quad * 16 + row_thread()) * quad + r % quad;
  }
  static __device__ __forceinline__ int lane(int c) {
    return (c / lane_quad * 8 + lane_thread()) * lane_quad + c % lane_quad;
  }
};

// N neighbouring numbers, 1, 2 or 4, in one load.
template <int N, class T> struct alignas(N * sizeof(T)) Few { T v[N]; };
template <int N, class T> __device__ __forceinline__ Few<N, T> few(const T* from) {
  return *reinterpret_cast<const Few<N, T>*>(from);
}

// A set of entries of one vector of each item: global memory -> registers -> shared memory, entry by entry.
template <class T, int items, int depth> struct Stage {
  static constexpr int threads = 128, quad = 16 / sizeof(T), quads = depth / quad,
                       across = items < 16 ? items : 16;
  static constexpr int loads = (items * quads + threads - 1) / threads, stride = items + 4,
                       entries = depth * stride;
  Few<quad, T> held[loads];

  static __device__ __forceinline__ int unit(int l) { return threadIdx.x + l * threads; }
  static __device__ __forceinline__ int item(int l) {
    return unit(l) % across + unit(l) / (across * quads) * across;
  }
  static __device__ __forceinline__ int entry(int l) { return unit(l) / across % quads * quad; }

  // From `first` on, of vectors that end at `size`; an item that does not exist is the first one again.
  __device__ __forceinline__ void fetch(const T* from, int item_stride, int count, int first, int size) {
    KERNOPS_UNROLL
    for (int l = 0; l < loads; ++l)
      if (item(l) < items && first + entry(l) < size)
        held[l] =
            few<quad>(from + (item(l) < count ? item(l) : 0) * (long long)item_stride + first + entry(l));
  }
  __device__ __forceinline__ void store(T* to) const {
    KERNOPS_UNROLL
    for (int l = 0; l < loads; ++l) KERNOPS_UNROLL
    for (int e = 0; e < quad; ++e)
      if (item(l) < items) to[(entry(l) + e) * stride + item(l)] = held[l].v[e];
  }
};

// Where the tile stands: its first row and lane, and how many of each there are.
template <class T> struct TilePlace {
  const T *once, *rows, *lanes;
  int row_stride, lane_stride, row_count, lane_count;
};

// What a buffer in shared memory holds: entry k of vector n of the rows at rows[n * RowStage::entries + k *
// RowStage::stride + row], and of the lanes likewise; they are entries `first` + k of the vectors.
template <class T> struct Buffer {
  const T *rows, *lanes, *once;
  int first, depth;
};

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

// c += a b by tensor cores: 16 rows x 8 lanes, 4 entries of each. Thread 4 i + j of a warp has entry j of rows i and i + 8
// and of lane i, and the sums of these rows with lanes 2 j and 2 j + 1.
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
#else
  KERNOPS_UNROLL
  for (int half = 0; half < 2; ++half)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
        : "d"(a[half]), "d"(b));
#endif
}

// Inner products of doubles by the tensor cores of data centres: each warp has 32 rows x 8 C lanes.
template <int C, class Terms> struct ByTensorCores {
  using Tile = PairTile<double, C>;
  static constexpr int row_stride = Stage<double, Tile::rows, Tile::depth>::stride,
                       lane_stride = Stage<double, Tile::lanes, Tile::depth>::stride;
  double sum[2][C][4];

  static __device__ __forceinline__ int i() { return threadIdx.x % 32 / 4; }
  static __device__ __forceinline__ int j() { return threadIdx.x % 4; }
  static __device__ __forceinline__ int row(int a, int half) { return threadIdx.x / 32 * 32 + 16 * a + 8 * half + i(); }

  __device__ __forceinline__ void start() {
    KERNOPS_UNROLL
    for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) KERNOPS_UNROLL
    for (int e = 0; e < 4; ++e) sum[a][c][e] = 0;
  }
  template <class O> __device__ __forceinline__ void add(const Buffer<double>& buffer, const O&) {
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < buffer.depth; first += 4) {
      const int k = first + j();
      const bool exists = k < buffer.depth;
      const auto entry = [=](const double* from) { return exists ? *from : 0; };
      double x[2][2];
      KERNOPS_UNROLL
      for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
      for (int half = 0; half < 2; ++half) x[a][half] = entry(buffer.rows + k * row_stride + row(a, half));
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) {
        const double y = entry(buffer.lanes + k * lane_stride + 8 * c + i());
        KERNOPS_UNROLL
        for (int a = 0; a < 2; ++a) multiply_add(sum[a][c], x[a], y);
      }
    }
  }
  __device__ __forceinline__ void put(double* values) const {
    KERNOPS_UNROLL
    for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) KERNOPS_UNROLL
    for (int e = 0; e < 4; ++e)
      values[(8 * c + 2 * j() + e % 2) * Tile::stride + row(a, e / 2)] = sum[a][c][e];
  }
};

// Other GPUs have few units for doubles, if any, and floats are as fast without.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr bool fast_tensor_cores = true;
#else
constexpr bool fast_tensor_cores = false;
#endif
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
