// Contracts long vectors term by term, without tensor cores. A block of 16 x 8 threads processes 128 rows and 8 C
// columns; each thread processes 8 of these rows and C of these columns, one entry of the vectors after another. Shared
// memory has two buffers for a few entries of the vectors: one buffer is read while the second buffer is filled.
#pragma once
#include <kernops/cuda/wide/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The sums of a thread, for 8 rows x C columns.
template <class T, class L, class Terms> struct SumsOfTerms {
  using Tile = PairTile<T, L>;
  using Rows = typename Terms::Rows;
  using Columns = typename Terms::Columns;
  using Once = typename Terms::Once;
  using RowStage = Stage<T, Tile::threads, Tile::rows, Tile::depth>;
  using ColumnStage = Stage<T, Tile::threads, Tile::columns, Tile::depth>;
  T sum[Tile::R][Tile::own_columns];

  __device__ __forceinline__ void start() {
    KERNOPS_EACH(r, Tile::R)
      KERNOPS_EACH(c, Tile::own_columns) sum[r][c] = 0;
  }
  template <class O> __device__ __forceinline__ void add(const Buffer<T>& buffer, const O& o) {
    KERNOPS_UNROLL_BY(2)
    for (int k = 0; k < buffer.depth; ++k) {
      Vec<T, Rows::room> x[Tile::R];
      Vec<T, Columns::room> y[Tile::own_columns];
      Vec<T, Once::room> z;
      KERNOPS_EACH(n, Rows::count)
        KERNOPS_EVERY(r, Tile::quad, Tile::R) {
          const auto some = few<Tile::quad>(buffer.rows + n * RowStage::entries + k * RowStage::stride + Tile::row(r));
          KERNOPS_EACH(e, Tile::quad) x[r + e].v[n] = some.v[e];
        }
      KERNOPS_EACH(n, Columns::count)
        KERNOPS_EVERY(c, Tile::column_quad, Tile::own_columns) {
          const auto some = few<Tile::column_quad>(buffer.columns + n * ColumnStage::entries + k * ColumnStage::stride +
                                                   Tile::column(c));
          KERNOPS_EACH(e, Tile::column_quad) y[c + e].v[n] = some.v[e];
        }
      KERNOPS_EACH(n, Once::count) z.v[n] = buffer.once[Once::nth(n) + buffer.first + k];
      KERNOPS_EACH(r, Tile::R)
        KERNOPS_EACH(c, Tile::own_columns) sum[r][c] += Terms::entry(x[r], y[c], z, o).v[0];
    }
  }
  __device__ __forceinline__ void put(T* values) const {
    KERNOPS_EACH(c, Tile::own_columns)
      KERNOPS_EVERY(r, Tile::quad, Tile::R) {
        Few<Tile::quad, T> some;
        KERNOPS_EACH(e, Tile::quad) some.v[e] = sum[r + e][c];
        *reinterpret_cast<Few<Tile::quad, T>*>(values + Tile::column(c) * Tile::stride + Tile::row(r)) = some;
      }
  }
};

// Contracts the vectors of a tile term by term, and transfers the sums through shared memory to the threads that
// evaluate the pairs (OwnPairs).
template <class T, class L, class Terms> struct TermByTerm {
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  using Rows = typename Terms::Rows;
  using Columns = typename Terms::Columns;
  using Sums = SumsOfTerms<T, L, Terms>;
  using RowStage = typename Sums::RowStage;
  using ColumnStage = typename Sums::ColumnStage;
  static constexpr int of_rows = Rows::count * RowStage::entries,
                       buffer = of_rows + Columns::count * ColumnStage::entries,
                       exchange = Tile::columns * Tile::stride, shared = 2 * buffer > exchange ? 2 * buffer : exchange,
                       stage = 0, for_rows = 0;
  static constexpr bool by_parts = false, in_shared = true;

  struct Stages {
    RowStage x[Rows::room];
    ColumnStage y[Columns::room];
    __device__ __forceinline__ void fetch(const TilePlace<T>& at, int first) {
      KERNOPS_EACH(n, Rows::count) x[n].fetch(at.rows + Rows::nth(n), at.row_stride, at.row_count, first, Terms::size);
      KERNOPS_EACH(n, Columns::count)
        y[n].fetch(at.columns + Columns::nth(n), at.column_stride, at.column_count, first, Terms::size);
    }
    __device__ __forceinline__ void store(T* to) const {
      KERNOPS_EACH(n, Rows::count) x[n].store(to + n * RowStage::entries);
      KERNOPS_EACH(n, Columns::count) y[n].store(to + of_rows + n * ColumnStage::entries);
    }
  };

  __device__ __forceinline__ void begin(const TilePlace<T>&, T*) {}
  __device__ __forceinline__ void send_first(const TilePlace<T>&, T*) const {}

  // This function is not inlined, because inlined code would occupy registers while threads contract by other methods.
  template <class O> static __device__ __noinline__ void compute(const TilePlace<T> at, const O o, T* shared) {
    __builtin_assume(__isShared(shared));
    Stages stages;
    Sums sums;
    sums.start();
    stages.fetch(at, 0);
    stages.store(shared);
    __syncthreads();
    T *now = shared, *next = shared + buffer;
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < Terms::size; first += Tile::depth) {
      const bool more = first + Tile::depth < Terms::size;
      if (more) stages.fetch(at, first + Tile::depth);
      sums.add(Buffer<T>{now, now + of_rows, at.once, first, more ? Tile::depth : Terms::size - first}, o);
      if (more) stages.store(next);
      __syncthreads();
      T* const used = now;
      now = next, next = used;
    }
    sums.put(shared);
    __syncthreads();
  }
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, L>& sum, const TilePlace<T>& at, const O& o, T* shared, T*& now,
                                      T*&, Send send_next) {
    compute(at, o, shared);
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(n, Own::columns) sum.v[r][n] = shared[Own::column(n) * Tile::stride + Own::row(r)];
    __syncthreads();
    send_next(now);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
