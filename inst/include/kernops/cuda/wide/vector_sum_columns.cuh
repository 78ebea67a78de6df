// Sums of vectors of columns, such as b in Sum(k(x, y) * b), each times a number of the pair that takes little work:
// products of matrices, by tensor cores. A thread makes the numbers of 2 columns in 8 and multiplies them at once,
// while the next tile is on its way; batches of entries follow one another, and make the numbers anew. Where a total is
// not finite, a warp adds up the tile term by term.
#pragma once
#include <kernops/cuda/wide/vector_sum_totals.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Formula, class Row, class BlockPairs, class L> struct ColumnVectorSum {
  using T = typename Formula::T;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  using Terms = typename Formula::VectorSum;
  static_assert(Formula::Contractions::count == 0 && Terms::of_column == 1 && Terms::of_row == 0,
                "vectors of columns, with numbers that take no contraction");
  using Numbers = typename Terms::Atom;
  using Part = typename Numbers::template Part<2>;
  using S = EntryBatch<T, Terms::size * sizeof(T) <= 64 ? 1 : 2, 1>;
  using Columns = ColumnEntries<T, Tile::columns, S>;
  using Sums = Totals<Formula, Row, L, S>;
  using Products = T[Columns::eighth][Own::rows / 2][4];

  // The numbers of the thread's rows with columns `first` and the one after it.
  template <class Pairs, class O, class Kept, class Take>
  static __device__ __forceinline__ void numbers(const O& o, const OwnRows<Formula, L>& rows, const Kept& kept,
                                                 int first, Take take) {
    const auto even = kept.of(first), odd = kept.of(first + 1);
    KERNOPS_EACH(r, Own::rows) {
      typename Pairs::F f[2];
      typename Pairs::W w;
      AnyTurns turns;
      Pairs::pair(o, rows.x[r], even, Vec<T, 1>{}, f[0], w, turns);
      Pairs::pair(o, rows.x[r], odd, Vec<T, 1>{}, f[1], w, turns);
      take(r, f[0][0], f[1][0]);
    }
  }

  static __device__ __forceinline__ T power(const Sums& totals, int r, T number) {
    if constexpr (shifts<Formula>()) return totals.seen.power(r, number);
    return number;
  }

  template <class Pairs, class O, class Kept>
  static __device__ __forceinline__ Contracted<T, L> all_numbers(const Sums& totals, const O& o,
                                                                 const OwnRows<Formula, L>& rows, const Kept& kept) {
    Contracted<T, L> all;
    KERNOPS_UNROLL_BY(1)
    for (int k = 0; k < L::C; ++k)
      numbers<Pairs>(o, rows, kept, Own::column(2 * k), [&](int r, T even, T odd) {
        all.v[r][2 * k] = power(totals, r, even), all.v[r][2 * k + 1] = power(totals, r, odd);
      });
    return all;
  }

  static __device__ __forceinline__ void start(Products& c, T (&mass)[Own::rows]) {
    KERNOPS_EACH(r, Own::rows) mass[r] = 0;
    KERNOPS_EACH(n, Columns::eighth)
      KERNOPS_EACH(r, Own::rows / 2)
        KERNOPS_EACH(e, 4) c[n][r][e] = 0;
  }
  // The matrix product of a tile, and of exponentials the sum, too.
  template <class Pairs, class O, class Kept>
  static __device__ __forceinline__ void multiply(Products& c, T (&mass)[Own::rows], T (&highest)[Own::rows],
                                                  Sums& totals, int count, const O& o, const OwnRows<Formula, L>& rows,
                                                  const Kept& kept, const Columns& columns) {
    KERNOPS_UNROLL_BY(2)
    for (int k = 0; k < L::C; ++k) {
      Part w[Own::rows];
      numbers<Pairs>(o, rows, kept, Own::column(2 * k), [&](int r, T even, T odd) {
        const Few<2, T> both{{power(totals, r, even), power(totals, r, odd)}};
        if constexpr (shifts<Formula>()) {
          highest[r] = larger(odd, larger(even, highest[r]));
          KERNOPS_EACH(e, 2)
            if (Own::column(2 * k) + e < count) mass[r] += both.v[e];
        }
        w[r] = Numbers::part(both);
      });
      const auto even = columns.part(0, Own::column(2 * k), Own::i()),
                 odd = columns.part(0, Own::column(2 * k + 1), Own::i());
      KERNOPS_EACH(n, Columns::eighth) {
        const Part y = Numbers::part(Few<2, T>{{even.v[n], odd.v[n]}});
        KERNOPS_EVERY(r, 2, Own::rows) {
          Numbers::add_rest(c[n][r / 2], w[r], w[r + 1], y);
          Numbers::add(c[n][r / 2], w[r], w[r + 1], y);
        }
      }
    }
  }
  // The same, once more where exponents are much larger than those before; whether it is finite, for all threads of a
  // warp.
  template <class Pairs, class O, class Kept>
  static __device__ __forceinline__ bool multiplied(Products& c, T (&highest)[Own::rows], Sums& totals, int count,
                                                    const O& o, const OwnRows<Formula, L>& rows, const Kept& kept,
                                                    const Columns& columns) {
    T mass[Own::rows];
    bool again = false;
    if constexpr (shifts<Formula>())
      KERNOPS_EACH(r, Own::rows) highest[r] = totals.seen.shift[r];
    do {
      start(c, mass);
      multiply<Pairs>(c, mass, highest, totals, count, o, rows, kept, columns);
      if constexpr (shifts<Formula>()) {
        again = !again && totals.seen.outgrown(highest);
        if (again) totals.follow(highest);
      }
    } while (again);
    if constexpr (shifts<Formula>())
      KERNOPS_EACH(r, Own::rows) totals.numbers[r] += mass[r];
    T check = 0;
    KERNOPS_EACH(n, Columns::eighth)
      KERNOPS_EACH(r, Own::rows / 2)
        KERNOPS_EACH(e, 4) check += c[n][r][e] * T(0);
    return __all_sync(~0u, check == 0);
  }

  static __device__ __forceinline__ void run(const PairJob& job) {
    __shared__ Columns columns[2];
    KERNOPS_UNROLL_BY(1)
    for (int base = 0; base < Terms::size; base += S::size) {
      Block<Formula, BlockPairs, L> block(job);
      const TilePlace<T> begin = block.place(block.begin);
      Row* kept = totals_of_block<Formula, Row>(job, block.first);
      const OwnRows<Formula, L> rows(begin);
      Sums totals(base);
      if constexpr (shifts<Formula>()) totals.seen.begin(base > 0, kept, job.partial_rows, block.row_count);
      for_tiles<Formula, BlockPairs, L, 0, true>(
          block, rows.norms,
          [&](const auto& at, int turn) { columns[turn].send(at, Terms::Columns::nth(0), base, Terms::size); },
          [&](auto kind, const auto& at, const auto& o, const auto&, long long, const auto& there, auto, int turn) {
            using Pairs = typename decltype(kind)::type;
            Products c;
            T highest[Own::rows];  // exponents
            if (multiplied<Pairs>(c, highest, totals, at.column_count, o, rows, there, columns[turn]))
              totals.add_run(0, c);
            else
              add_exactly(totals, at, o, all_numbers<Pairs>(totals, o, rows, there));
            if constexpr (shifts<Formula>())
              if (Formula::Powers::gives_top) totals.follow(highest);
          },
          [&](const auto&, const auto&, auto, bool last) {
            if (++totals.tiles == totals.most_tiles || last)
              totals.hand_over(block, begin, kept, job.partial_rows, last);
          });
      if (!block.any()) totals.hand_over_nothing(kept, job.partial_rows, block.row_count);
      __syncthreads();
    }
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
