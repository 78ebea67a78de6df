// Weighted sums of any vectors with any scalars of the pairs (ByEntries in cuda/wide/vector_sum.cuh). If the vector
// belongs to the column, or is a centred difference x - y of row and column, tensor cores multiply the scalars w of a
// tile by the vectors of the columns. For differences, sum w (x - y) is computed as x sum w - sum w y; the expansion of
// this sum is as accurate as the expansion of the exponent. All other sums are computed term by term.
#pragma once
#include <kernops/cuda/wide/vector_sum_totals.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The layout of a batch. The number of runs (groups of adjacent entries) is limited by the shared memory that
// contractions leave free, and by the registers for the totals of a thread.
template <class Formula, class Row, class L> struct BatchByEntries {
  using T = typename Formula::T;
  using Tile = PairTile<T, L>;
  using Terms = typename Formula::VectorSum;
  // True if a matrix product computes the sums for the version `Pairs` of the pairs: Formula, or Near (with the
  // expansion).
  template <class Pairs>
  static constexpr bool multiplies = adds_matrices<Formula, Row>() && Terms::of_column != 0 &&
                                     (Terms::of_row == 0 || (Formula::expands && !SameType<Pairs, Formula>::value));
  static constexpr bool ever = multiplies<typename Formula::Near> || multiplies<Formula>;
  static constexpr int number = Tile::columns * Tile::stride, numbers = Terms::numbers * number,
                       values = room_for_values<Formula, L>(), room = numbers > values ? numbers : values;
  static constexpr int units = Terms::size * sizeof(T) <= 64 ? 1 : 2, run = units * 64 / sizeof(T);
  static constexpr int left = 48 * 1024 - (ever ? TileMemory<Formula, L, room>::bytes : 0),
                       fit = (left < 28 * 1024 ? left : 28 * 1024) / int(run * Tile::columns * sizeof(T)),
                       held = (sizeof(T) == 4 ? 8 : 16) / L::rows, most = held < fit ? held : fit;
  static constexpr int all = (Terms::size + run - 1) / run, passes = (all + most - 1) / most;
  using S = EntryBatch<T, units, (all + passes - 1) / passes>;
  using Columns = ColumnEntries<T, ever ? Tile::columns : 1, S>;
  static_assert(TileMemory<Formula, L, room>::asked_for == 0, "as no launch is told");
  static_assert(!ever || left >= int(sizeof(Columns)), "more than a block has");
};

template <class Formula, class Row, class BlockPairs, class L>
struct SumByEntries : SumOfBatch<Formula, Row, BlockPairs, L, typename BatchByEntries<Formula, Row, L>::S> {
  using Batch = BatchByEntries<Formula, Row, L>;
  using Base = SumOfBatch<Formula, Row, BlockPairs, L, typename Batch::S>;
  using Base::totals;
  using typename Base::Own;
  using typename Base::T;
  using typename Base::Terms;
  using Tile = PairTile<T, L>;
  using Columns = typename Batch::Columns;
  static constexpr bool ahead = false;
  // If vectors have at most this number of entries, their totals leave enough registers for three blocks per
  // multiprocessor. Measurements show that plain sums of columns in doubles are faster with two blocks.
  static constexpr bool few = Formula::in_place && Terms::size <= (sizeof(T) == 8 ? 64 : 32);
  static constexpr int room = Batch::room,
                       blocks = few && (shifts<Formula>() || Terms::of_row != 0 || sizeof(T) == 4) ? 3 : 2;
  Columns& columns;
  Contracted<T, L> numbers;
  bool able = false;  // true if a matrix product can compute the sums of the tile
  int first = 0;      // first column of the tile

  __device__ __forceinline__ SumByEntries(const PairJob& job, int batch, Columns& columns, typename Base::Memory&)
      : Base(job, batch * Batch::S::size), columns(columns) {}
  __device__ __forceinline__ void send(const TilePlace<T>& at, int) {
    if constexpr (Batch::ever) columns.send(at, Terms::Columns::nth(0), totals.base, Terms::size);
  }

  template <class Pairs, class O, class Values, class Kept>
  __device__ __forceinline__ void take(const TilePlace<T>& at, const O& o, const Values& values, int column,
                                       const Kept& kept, T* shared, int) {
    first = column, able = Batch::template multiplies<Pairs>;
    if constexpr (Formula::in_place)
      numbers = this->template numbers_of<Pairs>(at, o, values, kept, none());
    else
      pass_row<Pairs, L, 1>(at, o, this->rows.x[0], values, shared, [&](const auto& f, const auto&, int n, int) {
        KERNOPS_UNROLL
        for (int i = 0; i == 0 || i < Terms::numbers; ++i)
          shared[i * Batch::number + n * Tile::stride + threadIdx.x] = f[0].v[i];
      });
  }
  template <class O> __device__ __forceinline__ void add(const TilePlace<T>& at, const O& o, T* shared, bool last) {
    if (!multiplied(at, shared)) {
      __syncthreads();
      totals.add_terms(at, o, first, [&](int column, int r) { return number_of(shared, column, r); });
    }
    __syncthreads();
    this->end_tile(last, blocks == 3 && Formula::products);  // `few_registers` is true where it reduces spills
  }

 private:
  static __device__ __forceinline__ T none() { return shifts<Formula>() ? -infinity<T>() : T(0); }
  // Multiplies the scalars of a tile by its vectors as matrices, if possible. If not, leaves the scalars in shared
  // memory and returns false.
  __device__ __forceinline__ bool multiplied(const TilePlace<T>& at, T* shared) {
    if constexpr (!Formula::in_place && shifts<Formula>()) {
      __syncthreads();
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(n, Own::columns)
          numbers.v[r][n] = Own::column(n) < at.column_count ? number_of(shared, Own::column(n), r) : none();
    }
    if constexpr (shifts<Formula>()) totals.exponentiate(numbers);
    if constexpr (Formula::in_place)
      if (totals.template multiplied<Batch::ever>(at, numbers, columns, able)) return true;
    if constexpr (Formula::in_place || shifts<Formula>()) PairValues<T, L, 1>{{numbers}}.put(shared);
    return false;
  }
  static __device__ __forceinline__ auto number_of(const T* shared, int column, int r) {
    const T* own = shared + column * Tile::stride + Own::row(r);
    if constexpr (Terms::numbers == 0) {
      return *own;
    } else {
      Vec<T, Terms::numbers> all;
      KERNOPS_EACH(i, Terms::numbers) all.v[i] = own[i * Batch::number];
      return all;
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
