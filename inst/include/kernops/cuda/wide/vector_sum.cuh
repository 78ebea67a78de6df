// Sums of long vectors, each a number per pair times a vector (a column's, or such as x - y), which gradients
// are. Their entries are taken in batches, one after another, so that the totals stay in registers: a thread has
// those of its own rows (OwnPairs), for some runs of entries.
//
// Where the vector is that of the column, or the difference of two, the sum over a tile is the product of two
// matrices, the numbers and the vectors of the columns, and goes to the tensor cores; sum w (x - y) is x sum w
// - sum w y then, as exact as the expansion of an exponent, and taken only where that is. Else it is added up
// term by term. The vectors of an expanded exponent have kernels of their own (cuda/wide/vector_sum_scaled.cuh,
// cuda/wide/vector_sum_long.cuh), and so have vectors of columns whose numbers take no contraction
// (cuda/wide/vector_sum_columns.cuh); here, the numbers of the pairs are made anew for each batch. Numbers may be
// exponentials, seen from what cuda/wide/vector_sum_shift.cuh says.
#pragma once
#include <kernops/cuda/wide/vector_sum_columns.cuh>
#include <kernops/cuda/wide/vector_sum_long.cuh>
#include <kernops/cuda/wide/vector_sum_merge.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Whether a sum may be a product of matrices, for these pairs.
template <class Formula, class Pairs, class Row> KERNOPS_FN constexpr bool multiplies() {
  using Terms = typename Formula::VectorSum;
  constexpr bool near = Formula::expands && !SameType<Pairs, Formula>::value;
  return adds_matrices<Formula, Row>() && Terms::of_column != 0 && (Terms::of_row == 0 || near);
}

// Where each thread has written the exponents of its row: who has the totals makes them exponentials.
template <class Totals, class T>
__device__ __forceinline__ void exponentiate(Totals& totals, const TilePlace<T>& at, T* shared) {
  using Own = typename Totals::Own;
  using Tile = typename Totals::Tile;
  typename Totals::PairNumbers w;
  __syncthreads();
  KERNOPS_EACH(r, Own::rows)
    KERNOPS_EACH(n, Own::columns)
      w.v[r][n] =
          Own::column(n) < at.column_count ? shared[Own::column(n) * Tile::stride + Own::row(r)] : -infinity<T>();
  totals.exponentiate(w);
  PairValues<T, typename Totals::Layout, 1>{{w}}.put(shared);
}

// Of the numbers of a pair that entries take, in shared memory.
template <class Formula, class L> KERNOPS_FN constexpr int room_for_numbers() {
  constexpr int one = PairTile<typename Formula::T, L>::columns * PairTile<typename Formula::T, L>::stride,
                numbers = Formula::VectorSum::numbers * one;
  return numbers > room_for_values<Formula, L>() ? numbers : room_for_values<Formula, L>();
}

// long: one kernel; what its loops share lives in registers
template <class Formula, class Row, class BlockPairs, class L>
__device__ __forceinline__ void vector_sum_by_batches(const PairJob& job) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  using Terms = typename Formula::VectorSum;
  constexpr bool ever = multiplies<Formula, Near, Row>() || multiplies<Formula, Formula, Row>();
  constexpr int units = Terms::size * sizeof(T) <= 64 ? 1 : 2, run = units * 64 / sizeof(T);
  constexpr int room = room_for_numbers<Formula, L>(), number = Tile::columns * Tile::stride;
  // runs that fit into shared memory beside what contractions need, and of which a thread can hold the totals
  constexpr int left = 48 * 1024 - (ever ? TileMemory<Formula, L, room>::bytes : 0),
                fit = (left < 28 * 1024 ? left : 28 * 1024) / int(run * Tile::columns * sizeof(T)),
                held = (sizeof(T) == 4 ? 8 : 16) / L::rows;
  constexpr int all = (Terms::size + run - 1) / run, most = held < fit ? held : fit, passes = (all + most - 1) / most;
  using S = EntryBatch<T, units, (all + passes - 1) / passes>;
  static_assert(TileMemory<Formula, L, room>::asked_for == 0, "as no launch is told");
  static_assert(!ever || left >= int(sizeof(ColumnEntries<T, Tile::columns, S>)), "more than a block has");
  __shared__ ColumnEntries<T, ever ? Tile::columns : 1, S> columns;

  const T none = shifts<Formula>() ? -infinity<T>() : T(0);

  KERNOPS_UNROLL_BY(1)
  for (int base = 0; base < Terms::size; base += S::size) {
    Block<Formula, BlockPairs, L> block(job);
    const TilePlace<T> begin = block.place(block.begin);
    Row* kept = totals_of_block<Formula, Row>(job, block.first);
    Totals<Formula, Row, L, S> totals(base);
    if constexpr (shifts<Formula>()) totals.seen.begin(base > 0, kept, job.partial_rows, block.row_count);
    Contracted<T, L> numbers;
    bool able = false;  // to be multiplied
    int first = 0;      // column of the tile
    const auto by_tiles = [&](const OwnNorms<T>& norms, auto visit) {
      for_tiles<Formula, BlockPairs, L, room, false>(
          block, norms,
          [&](const auto& at, int) {
            if constexpr (ever) columns.send(at, Terms::Columns::nth(0), base, Terms::size);
          },
          visit,
          [&](const auto& at, const auto& o, auto* shared, bool last) {
            bool product = false;
            if constexpr (Formula::in_place) {
              if constexpr (shifts<Formula>()) totals.exponentiate(numbers);
              product = totals.template multiplied<ever>(at, numbers, columns, able);
              if (!product) PairValues<T, L, 1>{{numbers}}.put(shared);
            } else if constexpr (shifts<Formula>()) {
              exponentiate(totals, at, shared);
            }
            if (!product) {
              __syncthreads();
              totals.add_terms(at, o, first, [&](int column, int r) {
                const T* own = shared + column * Tile::stride + Own::row(r);
                if constexpr (Terms::numbers == 0) {
                  return *own;
                } else {
                  Vec<T, Terms::numbers> all;
                  KERNOPS_EACH(i, Terms::numbers) all.v[i] = own[i * number];
                  return all;
                }
              });
            }
            __syncthreads();
            if (++totals.tiles == totals.most_tiles || last)
              totals.hand_over(block, begin, kept, job.partial_rows, last);
          });
    };
    if constexpr (Formula::in_place) {
      const OwnRows<Formula, L> rows(begin);
      by_tiles(rows.norms, [&](auto kind, const auto& at, const auto& o, const auto& values, long long column,
                               const auto& kept_columns, auto*, int) {
        using Pairs = typename decltype(kind)::type;
        first = int(column), able = multiplies<Formula, Pairs, Row>();
        own_pairs<Pairs, L, 1>(
            at, o, rows.x, values, kept_columns,
            [&](int r, int n, const auto& f, const auto&, int count) { numbers.v[r][n] = count ? f[0][0] : none; });
      });
    } else {
      Vec<T, Formula::kept_row> x;
      load_to(x, begin.rows + block.own_row() * block.row_stride);
      by_tiles(OwnNorms<T>(x.v[0]), [&](auto kind, const auto& at, const auto& o, const auto& values, long long column,
                                        const auto&, auto* shared, int) {
        first = int(column);
        pass_row<typename decltype(kind)::type, L, 1>(
            at, o, x, values, shared, [&](const auto& f, const auto&, int n, int) {
              KERNOPS_UNROLL
              for (int i = 0; i == 0 || i < Terms::numbers; ++i)
                shared[i * number + n * Tile::stride + threadIdx.x] = f[0].v[i];
            });
      });
    }
    if (!block.any()) totals.hand_over_nothing(kept, job.partial_rows, block.row_count);
  }
}

// Loops of a vector sum, as the text names them. ByEntries computes the numbers of pairs anew for each batch of
// entries; so does OfColumns, which multiplies them at once. Whole has all totals in registers. ByTiles keeps the
// numbers of some tiles for all batches.
struct ByEntries {};
struct OfColumns {};
struct Whole {};
struct ByTiles {};
template <class Row, class Batching> struct VectorSum {};

template <class Formula, class L, class Row, class Batching, class BlockPairs>
struct PairKernel<Formula, L, VectorSum<Row, Batching>, BlockPairs> {
  template <class Other> static constexpr bool is = SameType<Batching, Other>::value;
  static constexpr bool scaled = is<Whole> || is<ByTiles>;
  using Tiles = typename L::template With<is<ByTiles> ? 8 : L::C>;
  static_assert(L::warpgroups == 0 || is<Whole>, "others do not know warp groups");
  static constexpr int size = Formula::VectorSum::size, threads = L::threads,
                       partial_bytes = sizeof(Row) * kept_totals<Formula>(),
                       shared_bytes = scaled ? TileMemory<Formula, Tiles, 0>::asked_for : 0;
  // The blocks that share a multiprocessor.
  static constexpr int blocks = L::warpgroups   ? (size > 64 ? 1 : 2)
                                : is<OfColumns> ? 3
                                : sizeof(typename Formula::T) == 8 && Formula::in_place && size <= 64 ? 3
                                                                                                      : 2;
  static __device__ __forceinline__ void run(const PairJob& job) {
    if constexpr (is<OfColumns>)
      ColumnVectorSum<Formula, Row, BlockPairs, Tiles>::run(job);
    else if constexpr (is<Whole>)
      scaled_vector_sum<Formula, Row, BlockPairs, Tiles>(job);
    else if constexpr (is<ByTiles>)
      LongVectorSum<Formula, Row, BlockPairs, Tiles>(job).run();
    else
      vector_sum_by_batches<Formula, Row, BlockPairs, Tiles>(job);
  }
};
#define KERNOPS_VECTOR_SUM_MERGE(Formula, Row) \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_totals<Formula, Row>(job); }

}  // namespace KERNOPS_ISA
}  // namespace kernops
