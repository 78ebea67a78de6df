// The loop of a block of threads over the tiles of its rows and columns, for long vectors. The loop loads the data that
// the pairs of a tile read, and computes the contractions of these pairs.
#pragma once
#include <kernops/cuda/dynamic_shared.cuh>
#include <kernops/cuda/wide/contraction.cuh>
#include <kernops/cuda/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The rows and columns of the pairs that a block reduces.
template <class Formula, class BlockPairs, class L> struct Block : BlockPairs {
  using T = typename Formula::T;
  using Tile = PairTile<T, L>;
  static constexpr int row_stride = padded<T>(Formula::row), column_stride = padded<T>(Formula::column);
  using BlockPairs::first, BlockPairs::begin, BlockPairs::end;
  const PairJob& job;
  int row_count;

  explicit __device__ Block(const PairJob& job) : BlockPairs(job, Tile::rows), job(job) {
    row_count = BlockPairs::row_end - first < Tile::rows ? int(BlockPairs::row_end - first) : Tile::rows;
  }
  __device__ const T* once() const { return static_cast<const T*>(job.once); }
  __device__ TilePlace<T> place(long long column) const {
    const int column_count = end - column < Tile::columns ? int(end - column) : Tile::columns;
    return {once(),
            static_cast<const T*>(job.rows) + first * row_stride,
            static_cast<const T*>(job.columns) + column * column_stride,
            row_stride,
            column_stride,
            row_count,
            column_count};
  }
};

template <class Pairs> struct PairsOf { using type = Pairs; };

// With Formula::in_place, a thread evaluates the pairs whose contractions are in its registers. Returns true if the
// thread also reduces these pairs. In this case, the thread keeps a state for each of its rows; at the end, the states
// of neighbouring threads are joined.
template <class Formula, class Row> KERNOPS_FN constexpr bool reduced_in_place() {
  return Formula::in_place && Row::any_order && sizeof(Row) <= 12 * sizeof(typename Formula::T);
}

// The values of a tile's columns that pairs read, in shared memory. Vectors that only contractions read are not among
// these values.
template <class T, int kept, int columns> struct KeptColumns {
  static constexpr int stride = (kept * int(sizeof(T)) + 15) / 16 * 16 / int(sizeof(T));
  alignas(16) T v[columns * stride];

  __device__ __forceinline__ void send_own(const TilePlace<T>& at) {
    const int column = threadIdx.x;
    if (column >= columns) return;
    const T* from = at.columns + (column < at.column_count ? column : 0) * (long long)at.column_stride;
    constexpr int unit = 16 / sizeof(T);
    KERNOPS_EVERY(k, unit, stride) {
      const int there = at.column_stride - k;
      send(v + column * stride + k, from + k, there >= unit ? 16 : there * int(sizeof(T)));
    }
  }
  __device__ __forceinline__ Vec<T, kept> of(int column) const {
    Vec<T, kept> y;
    KERNOPS_EACH(k, kept) y.v[k] = v[column * stride + k];
    return y;
  }
};

// The layout of shared memory in for_tiles(): the number of values before the values of the rows, the number of all
// values, and the total size in bytes.
template <class Formula, class L, int room> struct TileMemory {
  using T = typename Formula::T;
  using ForNear = AllContractions<T, L, typename Formula::Near::Contractions>;
  using ForAll = AllContractions<T, L, typename Formula::Contractions>;
  using Kept = KeptColumns<T, Formula::in_place ? Formula::kept_column : 1, PairTile<T, L>::columns>;
  static constexpr int needed = ForNear::shared > ForAll::shared ? ForNear::shared : ForAll::shared,
                       before_rows = needed > room ? needed : room, numbers = before_rows + ForNear::for_rows,
                       bytes = numbers * sizeof(T) + 2 * sizeof(Kept);
  // Memory that the launch requests if a block needs more than the 48 KB that every GPU provides.
  static constexpr int asked_for = bytes > 48 * 1024 ? numbers* int(sizeof(T)) : 0;

  static __device__ __forceinline__ T* begin() {
    if constexpr (asked_for > 0) {
      KERNOPS_DYNAMIC_SHARED(memory);
      return reinterpret_cast<T*>(memory);
    } else {
      alignas(L::warpgroups ? 512 : 16) __shared__ T memory[numbers];
      return memory;
    }
  }
};

// A summary of the norms of a thread's rows: the largest norm, and whether all rows are near (have norms that allow the
// expansion, is_near()).
template <class T> struct OwnNorms {
  bool near = true;
  T largest = 0;
  __device__ __forceinline__ OwnNorms() {}
  explicit __device__ __forceinline__ OwnNorms(T norm) { take(norm); }
  __device__ __forceinline__ void take(T norm) { near = near && is_near(norm), largest = larger(norm, largest); }
};

// Tests whether the exponents of the pairs that combine a block's rows with one column can be expanded. For inner
// products, the test uses the sum of the norms of row and column (put_product()); the largest norm of the rows stays in
// shared memory to save registers.
template <class T, bool products> struct NearRows {
  bool near;
  __device__ __forceinline__ NearRows(const OwnNorms<T>& own, T& largest) : near(own.near) {
    if constexpr (products) {
      const bool uneven = __syncthreads_or(own.largest > T(1.5)), zero = __syncthreads_or(own.largest > T(0.5));
      if (threadIdx.x == 0) largest = uneven ? T(2) : zero ? T(1) : T(0);
      __syncthreads();
    }
  }
  __device__ __forceinline__ bool has(T norm, const T& largest) const {
    return is_near(norm) && (!products || norm + largest < T(2.5));
  }
};

// Calls three functions for each tile of a block: send_more(at, turn); visit(PairsOf<Pairs>, at, once, contracted
// values, first column, kept columns, shared memory, turn); and done(at, once, shared memory, true for the last tile).
// `turn` alternates between 0 and 1. If `ahead` is true, the next tile is loaded during visit(), and visit() receives
// the shared memory that holds the last stage of the columns. If `ahead` is false, visit() receives free shared memory,
// and must end with a barrier.
// long: one pipeline of loads and tiles
template <class Formula, class BlockPairs, class L, int room, bool ahead, class Send, class Visit, class Done>
__device__ __forceinline__ void for_tiles(Block<Formula, BlockPairs, L>& block,
                                          const OwnNorms<typename Formula::T>& norms, Send send_more, Visit visit,
                                          Done done) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  using Tile = PairTile<T, L>;
  using Memory = TileMemory<Formula, L, room>;
  using ForNear = typename Memory::ForNear;
  using ForAll = typename Memory::ForAll;
  T* const shared = Memory::begin();
  __shared__ typename Memory::Kept kept[2];

  __shared__ T largest_norm;
  const NearRows<T, Formula::products> rows(norms, largest_norm);
  const auto o = load<Formula::kept_once>(block.once());
  ForNear contract;
  if (ahead) contract.begin(block.place(block.begin), shared + Memory::before_rows);
  T *now = shared, *next = shared + ForNear::stage;
  int turn = 0;
  bool sent = false;
  do {
    for (long long column = block.begin; column < block.end; column += Tile::columns) {
      const TilePlace<T> at = block.place(column);
      const auto send = [&](const TilePlace<T>& at, T* to, int turn) {
        contract.send_first(at, to);
        if (Formula::in_place || Formula::expands) kept[turn].send_own(at);
        send_more(at, turn);
      };
      if (!sent) send(at, now, turn);
      // the rows are loaded again for each tile, so that visit() can use their registers
      if (!ahead) contract.begin(at, shared + Memory::before_rows);
      wait_for_sent<L::warpgroups != 0>();
      const bool own_column = int(threadIdx.x) < at.column_count;
      const bool near =
          !Formula::expands ||
          (rows.near && (!own_column || rows.has(kept[turn].v[threadIdx.x * kept[0].stride], largest_norm)));
      const bool all_near = __syncthreads_and(near), more = column + Tile::columns < block.end;
      sent = ahead && more;
      const auto send_next = [&](T* to) {
        if (sent) send(block.place(column + Tile::columns), to, 1 - turn);
      };
      const auto take = [&](auto kind, const auto& values, T* stage) {
        visit(kind, at, o, values, column, kept[turn], ahead ? stage : shared, turn);
      };
      if (all_near) {
        if constexpr (ahead && ForNear::by_parts) {
          send_next(next);
          take(PairsOf<Near>(), PartByPart<T, L, typename ForNear::Contract>{contract.first, now}, now);
          swap(now, next);
        } else if constexpr (ForNear::in_shared) {
          ForNear::Contract::compute(at, o, shared);
          send_next(now);
          take(PairsOf<Near>(), InShared<T, L>{shared}, shared);
        } else {
          PairValues<T, L, ForNear::count> values;
          contract.run(values.sums, at, o, shared, now, next, send_next);
          if (!ahead) __syncthreads();
          take(PairsOf<Near>(), values, next);
        }
      } else if constexpr (Formula::expands) {
        sent = false;
        if constexpr (ForAll::in_shared) {
          ForAll::Contract::compute(at, o, shared);
          take(PairsOf<Formula>(), InShared<T, L>{shared}, shared);
        } else {
          ForAll contract_all;
          PairValues<T, L, ForAll::count> values;
          T *first = shared, *second = shared + ForAll::stage;
          contract_all.begin(at, shared);
          contract_all.send_first(at, first);
          wait_for_sent<L::warpgroups != 0>();
          __syncthreads();
          contract_all.run(values.sums, at, o, shared, first, second, [](T*) {});
          __syncthreads();
          take(PairsOf<Formula>(), values, shared);
        }
        __syncthreads();
      }
      turn = 1 - turn;
      done(at, o, shared, !more && block.last());
    }
  } while (block.next());
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
