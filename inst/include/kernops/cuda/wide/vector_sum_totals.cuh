// The totals of weighted sums of long vectors (cuda/wide/vector_sum.cuh), and the functions that add products of
// scalars and vectors to these totals.
#pragma once
#include <kernops/cuda/wide/vector_sum_batch.cuh>
#include <kernops/cuda/wide/vector_sum_shift.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Loads 16 bytes of each of several vectors; vector n begins at the n-th offset after `from`.
template <class Offsets, int quad, class T, int N>
__device__ __forceinline__ void load_quad(const T* from, Vec<T, N>* to) {
  KERNOPS_EACH(n, Offsets::count) {
    const auto some = few<quad>(from + Offsets::nth(n));
    KERNOPS_EACH(e, quad) to[e].v[n] = some.v[e];
  }
}

// Returns true if tensor cores multiply scalars and vectors as matrices. In this case, the thread that evaluates a pair
// must also hold the scalars of this pair.
template <class Formula, class Row> KERNOPS_FN constexpr bool adds_matrices() {
  constexpr bool by_cores = !SameType<typename Formula::VectorSum::Atom, Plain>::value;
  static_assert(!by_cores || (Formula::in_place && Row::adds_tiles),
                "numbers of pairs that threads have, and plain sums");
  return by_cores;
}

// The totals of a thread for a batch of entries, which begins at entry `base`.
template <class Formula, class Row, class L, class S> struct Totals {
  using Batch = S;
  using Layout = L;
  using T = typename Formula::T;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  using Terms = typename Formula::VectorSum;
  static constexpr bool sums_numbers = Terms::of_row != 0 || shifts<Formula>();
  // number of tiles after which the totals in registers are added to the totals in memory; smaller if all sums are
  // computed term by term
  static constexpr int most_tiles = (Terms::numbers > 0 ? 512 : 4096) / Tile::columns;
  const int base;
  Row sum[Own::rows][S::runs][S::own];
  T numbers[Own::rows];  // sums of the scalars: of w in sum w (x - y), or of exponentials
  SeenFrom<Formula, L> seen;
  int tiles = 0;
  bool begun = false;

  explicit __device__ __forceinline__ Totals(int base) : base(base) { start(); }
  __device__ __forceinline__ void start() {
    KERNOPS_EACH(r, Own::rows) {
      numbers[r] = 0;
      KERNOPS_EACH(q, S::runs)
        KERNOPS_EACH(e, S::own) sum[r][q][e].start();
    }
  }

  // Calls take(q, index of the totals of run q) for each run q, in order. If there are many runs (groups of adjacent
  // entries), the totals rotate through the registers, so that all runs use the same code, which compiles quickly. If
  // there are few runs, the rotation would take additional registers.
  static constexpr bool rotates = S::runs > (L::warpgroups ? 4 : Terms::numbers > 0 ? 1 : 2);
  template <class Take> __device__ __forceinline__ void each_run(Take take) {
    if constexpr (rotates) {
      KERNOPS_UNROLL_BY(1)
      for (int q = 0; q < S::runs; ++q) {
        if (base + q * S::run < Terms::size) take(q, 0);
        rotate();
      }
    } else {
      KERNOPS_EACH(q, S::runs) {
        if (base + q * S::run >= Terms::size) break;
        take(q, q);
      }
    }
  }
  __device__ __forceinline__ void rotate() {
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(e, S::own) {
        const Row first = sum[r][0][e];
        KERNOPS_UNROLL
        for (int next = 1; next < S::runs; ++next) sum[r][next - 1][e] = sum[r][next][e];
        sum[r][S::runs - 1][e] = first;
      }
  }

  __device__ __forceinline__ int entry(int q, int e) const { return base + S::first(q) + e; }
  __device__ __forceinline__ const T* row_item(const TilePlace<T>& at, int r) const {
    return at.rows + (Own::row(r) < at.row_count ? Own::row(r) : 0) * (long long)at.row_stride;
  }

  // Returns entry k of the vector of a row, which is centred and scaled like the summed vectors of the columns.
  __device__ __forceinline__ T row_entry(const TilePlace<T>& at, int r, int k) const {
    T x = row_item(at, r)[Terms::Rows::nth(0) + k];
    if (Terms::centre >= 0) x -= at.once[Terms::centre + k];
    return Terms::roots >= 0 ? x * at.once[Terms::roots + k] : x;
  }

  // Multiplies scalars and vectors as matrices, if `able` is true and all scalars and vectors are finite. Returns
  // whether the totals have been updated. All threads of the block call this function.
  template <bool ever, class Columns>
  __device__ __forceinline__ bool multiplied(const TilePlace<T>& at, const Contracted<T, L>& w, Columns& columns,
                                             bool able) {
    if constexpr (!ever) {
      __syncthreads();
      return false;
    } else {
      T check = columns.template take_centre<Terms>(at.once, base);
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(n, Own::columns) check += w.v[r][n] * T(0);
      const bool finite = __syncthreads_and(able && check == 0);
      if (finite) multiply(w, columns);
      return finite;
    }
  }
  __device__ __forceinline__ void add_numbers(const Contracted<T, L>& w) {
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(k, L::C) numbers[r] += w.v[r][2 * k] + w.v[r][2 * k + 1];
  }

  // Replaces exponents by exponentials, and adds up the exponentials. All threads of a warp must call this function.
  __device__ __forceinline__ void exponentiate(Contracted<T, L>& w) {
    T highest[Own::rows];
    KERNOPS_EACH(r, Own::rows) {
      highest[r] = seen.shift[r];
      KERNOPS_EACH(n, Own::columns) highest[r] = larger(w.v[r][n], highest[r]);
    }
    if (Formula::Powers::gives_top || seen.outgrown(highest)) follow(highest);
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(n, Own::columns) w.v[r][n] = seen.power(r, w.v[r][n]);
    add_numbers(w);
  }
  // Sets the shifts to the largest exponents, and rescales the totals.
  __device__ __forceinline__ void follow(const T (&highest)[Own::rows]) {
    KERNOPS_EACH(r, Own::rows) {
      const T factor = seen.follow(r, highest[r]);
      if (__all_sync(~0u, factor == 1)) continue;  // usual case: the shift seldom changes after many columns
      numbers[r] *= factor;
      KERNOPS_EACH(q, S::runs)
        KERNOPS_EACH(e, S::own) sum[r][q][e].scale(factor);
    }
  }

  template <class Columns> __device__ __forceinline__ void multiply(const Contracted<T, L>& w, const Columns& columns) {
    typename Terms::Atom::template Part<2> split[L::C][Own::rows];
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(k, L::C) split[k][r] = Terms::Atom::part(Few<2, T>{{w.v[r][2 * k], w.v[r][2 * k + 1]}});
    if (Terms::of_row != 0) add_numbers(w);
    KERNOPS_EACH(q, S::runs) {
      if (base + q * S::run >= Terms::size) break;
      T c[Columns::eighth][Own::rows / 2][4] = {};
      KERNOPS_EACH(k, L::C) multiply_columns(c, split[k], columns, q, k);
      add_run(q, c);
    }
  }
  // Adds the products of scalars and vectors to c, for two columns in every 8 columns and for the entries of run q.
  template <class Columns, class Part>
  static __device__ __forceinline__ void multiply_columns(T (&c)[Columns::eighth][Own::rows / 2][4],
                                                          const Part (&w)[Own::rows], const Columns& columns, int q,
                                                          int k) {
    using Numbers = typename Terms::Atom;
    const auto even = columns.part(q, Own::column(2 * k), Own::i()),
               odd = columns.part(q, Own::column(2 * k + 1), Own::i());
    KERNOPS_EACH(n, Columns::eighth) {
      const Part y = Numbers::part(Few<2, T>{{even.v[n], odd.v[n]}});
      KERNOPS_EVERY(r, 2, Own::rows) {
        Numbers::add_rest(c[n][r / 2], w[r], w[r + 1], y);
        Numbers::add(c[n][r / 2], w[r], w[r + 1], y);
      }
    }
  }
  template <int eighth> __device__ __forceinline__ void add_run(int q, const T (&c)[eighth][Own::rows / 2][4]) {
    KERNOPS_EACH(n, eighth)
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(odd, 2) add(sum[r][q][eighth * odd + n], T(Terms::of_column), c[n][r / 2][r % 2 * 2 + odd]);
  }

  // Adds the products of scalars and vectors term by term. number_of(column, r) returns the scalar of the thread's row
  // r and a column; the tile begins at column `first`.
  template <class O, class NumberOf>
  __device__ __forceinline__ void add_terms(const TilePlace<T>& at, const O& o, int first, NumberOf number_of) {
    each_run([&](int q, int there) {
      Vec<T, Terms::Rows::room> x[Own::rows][S::own];
      Vec<T, Terms::Once::room> z[S::own];
      int from[S::units];  // first entry of each unit, or 0 after the end, where results are discarded
      KERNOPS_EACH(u, S::units) {
        from[u] = entry(q, u * S::unit) < Terms::size ? entry(q, u * S::unit) : 0;
        load_quad<typename Terms::Once, S::unit>(at.once + from[u], z + u * S::unit);
        KERNOPS_EACH(r, Own::rows)
          load_quad<typename Terms::Rows, S::unit>(row_item(at, r) + from[u], x[r] + u * S::unit);
      }
      KERNOPS_UNROLL_BY(2)
      for (int column = 0; column < at.column_count; ++column) {
        Vec<T, Terms::Columns::room> y[S::own];
        KERNOPS_EACH(u, S::units)
          load_quad<typename Terms::Columns, S::unit>(at.columns + column * (long long)at.column_stride + from[u],
                                                      y + u * S::unit);
        KERNOPS_EACH(r, Own::rows) {
          const auto number = number_of(column, r);
          KERNOPS_EACH(e, S::own) {
            if constexpr (Terms::numbers > 0)
              add(sum[r][there][e], T(1), Terms::entry(number, x[r][e], y[e], z[e], o).v[0], first + column);
            else
              add(sum[r][there][e], number, Terms::entry(x[r][e], y[e], z[e], o).v[0], first + column);
          }
        }
      }
    });
  }

  static __device__ __forceinline__ void add(Row& to, T number, T entry, int column = 0) {
    const Vec<T, 1> numbers[] = {{number}}, entries[] = {{entry}};
    to.add(numbers, entries, column, 1);
  }

  // For each row, adds up the sums of scalars that the threads of this row hold. Also computes the factors that rescale
  // the totals in memory to the current shifts.
  __device__ __forceinline__ void join_numbers(T (&change)[Own::rows], int row_count, Row* totals, long long stride) {
    if (sums_numbers)
      KERNOPS_EACH(r, Own::rows)
        for (int step = 1; step < Own::sharing; step *= 2) numbers[r] += __shfl_xor_sync(~0u, numbers[r], step);
    if constexpr (shifts<Formula>()) {
      KERNOPS_EACH(r, Own::rows)
        change[r] = begun && Own::row(r) < row_count
                        ? Formula::Powers::change(kept_shift<Formula>(totals + Own::row(r), stride), seen.shift[r])
                        : T(1);
    }
  }
  // Adds the totals of the thread to the totals of the block in memory. In memory, the totals of one entry are
  // contiguous for adjacent rows.
  template <class Block>
  __device__ __forceinline__ void hand_over(const Block& block, const TilePlace<T>& at, Row* totals, long long stride,
                                            bool last) {
    T change[Own::rows];
    join_numbers(change, at.row_count, totals, stride);
    const auto exists = [&](int r, int q, int e) { return Own::row(r) < at.row_count && entry(q, e) < Terms::size; };
    const auto place = [&](int r, int q, int e) { return totals + entry(q, e) * stride + Own::row(r); };
    each_run([&](int q, int there) {
      KERNOPS_EACH(r, Own::rows) {
        Row total[S::own];  // all threads read their totals before one thread writes
        KERNOPS_EACH(e, S::own) {
          total[e].start();
          if (!exists(r, q, e)) continue;
          if (begun) total[e] = *place(r, q, e);
          if constexpr (shifts<Formula>()) total[e].scale(change[r]);
          if (Terms::of_row != 0) add(sum[r][there][e], numbers[r], T(Terms::of_row) * row_entry(at, r, entry(q, e)));
        }
        KERNOPS_EACH(e, S::own) {
          if (!exists(r, q, e)) continue;
          total[e].absorb(sum[r][there][e]);
          total[e].settle();
          if constexpr (Formula::factor >= 0)
            if (last) total[e].scale(row_item(at, r)[Formula::factor]);
          if constexpr (Formula::entry_factors >= 0)
            if (last) total[e].scale(at.once[Formula::entry_factors + entry(q, e)]);
          if (last) block.complete(total[e]);
          *place(r, q, e) = total[e];
        }
      }
    });
    if constexpr (shifts<Formula>()) hand_over_numbers(block, change, totals, stride, last);
    begun = true, tiles = 0;
    start();
  }
  template <class Block>
  __device__ __forceinline__ void hand_over_numbers(const Block& block, const T (&change)[Own::rows], Row* totals,
                                                    long long stride, bool last) {
    __syncwarp();  // waits until all threads have read the values that are overwritten below
    KERNOPS_EACH(r, Own::rows) {
      if (base > 0 || Own::j() > 0 || Own::row(r) >= block.row_count) continue;
      Row* const place = totals + Terms::size * stride + Own::row(r);
      Row total, now;
      total.start(), now.start();
      if (begun) total = *place;
      total.scale(change[r]);
      add(now, numbers[r], T(1));
      total.absorb(now);
      total.settle();
      if (last) block.complete(total);
      *place = total;
      kept_shift<Formula>(totals + Own::row(r), stride) = seen.shift[r];
    }
    __syncwarp();
  }
  // Writes zeros as totals if a block has no columns.
  __device__ __forceinline__ void hand_over_nothing(Row* totals, long long stride, int rows) const {
    constexpr int threads = Tile::threads / L::sharing;
    for (int n = L::sharing == 2 ? threadIdx.x % threads : threadIdx.x; n < rows * S::size; n += threads)
      if (base + n / rows < Terms::size) totals[(base + n / rows) * stride + n % rows].start();
    if constexpr (shifts<Formula>())
      for (int row = threadIdx.x; base == 0 && row < rows; row += Tile::threads) {
        totals[Terms::size * stride + row].start();
        kept_shift<Formula>(totals + row, stride) = Formula::Powers::lowest();
      }
  }
};

// The rows of a block and the address of their totals. All policies of cuda/wide/vector_sum.cuh inherit from this
// struct.
template <class Formula, class Row, class BlockPairs, class L> struct SumOfBlock {
  using T = typename Formula::T;
  using Layout = L;
  using Own = OwnPairs<L>;
  using Terms = typename Formula::VectorSum;
  // room: number of values in shared memory; blocks: number of blocks per multiprocessor
  static constexpr int room = 0, blocks = 2;
  struct Columns {};  // vectors in shared memory that are loaded only for the sum
  struct Memory {};   // arrays of the thread that are indexed at run time
  Block<Formula, BlockPairs, L> block;
  const TilePlace<T> begin;
  Row* const kept;
  const OwnRows<Formula, L> rows;

  explicit __device__ __forceinline__ SumOfBlock(const PairJob& job)
      : block(job),
        begin(block.place(block.begin)),
        kept(totals_of_block<Formula, Row>(job, block.first)),
        rows(begin) {}
  __device__ __forceinline__ void send(const TilePlace<T>&, int) const {}
  // `few_registers` keeps the compiler from computing the addresses of the totals before the loop over tiles, because
  // these addresses would occupy registers during the loop.
  template <class Totals>
  __device__ __forceinline__ void hand_over(Totals& totals, bool last, bool few_registers = false) const {
    long long stride = block.job.partial_rows;
#ifdef __CUDA_ARCH__
    if (few_registers) asm volatile("" : "+l"(stride));
#endif
    totals.hand_over(block, begin, kept, stride, last);
  }
  template <class Totals> __device__ __forceinline__ void hand_over_nothing(const Totals& totals) const {
    totals.hand_over_nothing(kept, block.job.partial_rows, block.row_count);
  }

  // Returns the scalars of the thread's pairs in a tile; vectors are multiplied by these scalars. The scalars of
  // columns after the last column are `none`.
  template <class Pairs, class O, class Values, class Kept>
  __device__ __forceinline__ Contracted<T, L> numbers_of(const TilePlace<T>& at, const O& o, const Values& values,
                                                         const Kept& columns, T none) const {
    Contracted<T, L> numbers;
    own_pairs<Pairs, L, 1>(at, o, rows.x, values, columns, [&](int r, int n, const auto& f, const auto&, int count) {
      numbers.v[r][n] = count ? f[0][0] : none;
    });
    return numbers;
  }
  // Adds the products of the scalars and vectors of a tile term by term; the scalars `w` are in local memory.
  template <class Totals, class O>
  static __device__ __forceinline__ void add_exactly(Totals& totals, const TilePlace<T>& at, const O& o,
                                                     const Contracted<T, L>& w) {
    totals.add_terms(at, o, 0, [&](int column, int r) {
      return __shfl_sync(~0u, w.v[r][column / 8 * 2 + column % 2], column % 8 / 2, Own::sharing);
    });
  }
};

// The base class of the policies that process one batch of entries at a time. The batch begins at entry `base`.
template <class Formula, class Row, class BlockPairs, class L, class S>
struct SumOfBatch : SumOfBlock<Formula, Row, BlockPairs, L> {
  using Base = SumOfBlock<Formula, Row, BlockPairs, L>;
  static constexpr int batches = (Formula::VectorSum::size + S::size - 1) / S::size;
  Totals<Formula, Row, L, S> totals;

  __device__ __forceinline__ SumOfBatch(const PairJob& job, int base) : Base(job), totals(base) {
    if constexpr (shifts<Formula>()) totals.seen.begin(base > 0, this->kept, job.partial_rows, this->block.row_count);
  }
  __device__ __forceinline__ void end_tile(bool last, bool few_registers = false) {
    if (++totals.tiles == totals.most_tiles || last) this->hand_over(totals, last, few_registers);
  }
  __device__ __forceinline__ void hand_over_nothing() const { Base::hand_over_nothing(totals); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
