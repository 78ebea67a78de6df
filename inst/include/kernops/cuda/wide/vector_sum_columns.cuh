// Weighted sums of vectors of columns, such as b in Sum(k(x, y) * b), if the scalar k(x, y) of a pair is cheap to
// compute (OfColumns in cuda/wide/vector_sum.cuh). A thread computes the scalars of 2 columns in every 8 columns, and
// tensor cores immediately multiply these scalars by the vectors. During these products, the next tile is loaded. If a
// total is not finite, the warp adds the products of the tile term by term.
#pragma once
#include <kernops/cuda/wide/vector_sum_totals.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class Formula>
using BatchOfColumns =
    EntryBatch<typename Formula::T, Formula::VectorSum::size * sizeof(typename Formula::T) <= 64 ? 1 : 2, 1>;

template <class Formula, class Row, class BlockPairs, class L>
struct SumOfColumns : SumOfBatch<Formula, Row, BlockPairs, L, BatchOfColumns<Formula>> {
  using Base = SumOfBatch<Formula, Row, BlockPairs, L, BatchOfColumns<Formula>>;
  using Base::rows;
  using Base::totals;
  using typename Base::Own;
  using typename Base::T;
  using typename Base::Terms;
  static_assert(Formula::Contractions::count == 0 && Terms::of_column == 1 && Terms::of_row == 0,
                "vectors of columns, with numbers that take no contraction");
  using Entries = ColumnEntries<T, PairTile<T, L>::columns, BatchOfColumns<Formula>>;
  using Columns = Entries[2];
  using Products = T[Entries::eighth][Own::rows / 2][4];
  using Numbers = typename Terms::Atom;
  static constexpr bool ahead = true;
  static constexpr int blocks = 3;
  Columns& columns;

  __device__ __forceinline__ SumOfColumns(const PairJob& job, int batch, Columns& columns, typename Base::Memory&)
      : Base(job, batch * BatchOfColumns<Formula>::size), columns(columns) {}
  __device__ __forceinline__ void send(const TilePlace<T>& at, int turn) {
    columns[turn].send(at, Terms::Columns::nth(0), totals.base, Terms::size);
  }
  template <class Pairs, class O, class Values, class Kept>
  __device__ __forceinline__ void take(const TilePlace<T>& at, const O& o, const Values&, int, const Kept& kept, T*,
                                       int turn) {
    Products c;
    T highest[Own::rows];
    if (multiplied<Pairs>(c, highest, at.column_count, o, kept, columns[turn]))
      totals.add_run(0, c);
    else
      this->add_exactly(totals, at, o, all_numbers<Pairs>(o, kept));
    if constexpr (shifts<Formula>())
      if (Formula::Powers::gives_top) totals.follow(highest);
  }
  template <class O> __device__ __forceinline__ void add(const TilePlace<T>&, const O&, T*, bool last) {
    this->end_tile(last);
  }

 private:
  // Computes the scalars of the pairs that combine the thread's rows with the columns `first` and `first` + 1.
  template <class Pairs, class O, class Kept, class Take>
  __device__ __forceinline__ void numbers(const O& o, const Kept& kept, int first, Take take) const {
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
  __device__ __forceinline__ T power(int r, T number) const {
    if constexpr (shifts<Formula>()) return totals.seen.power(r, number);
    return number;
  }
  template <class Pairs, class O, class Kept>
  __device__ __forceinline__ Contracted<T, L> all_numbers(const O& o, const Kept& kept) const {
    Contracted<T, L> all;
    KERNOPS_UNROLL_BY(1)
    for (int k = 0; k < L::C; ++k)
      numbers<Pairs>(o, kept, Own::column(2 * k), [&](int r, T even, T odd) {
        all.v[r][2 * k] = power(r, even), all.v[r][2 * k + 1] = power(r, odd);
      });
    return all;
  }

  // Multiplies the scalars of a tile by the vectors of its columns. If the scalars are exponentials, also computes the
  // sums of the exponentials and the largest exponents.
  template <class Pairs, class O, class Kept>
  __device__ __forceinline__ void multiply(Products& c, T (&mass)[Own::rows], T (&highest)[Own::rows], int count,
                                           const O& o, const Kept& kept, const Entries& entries) const {
    KERNOPS_EACH(r, Own::rows) mass[r] = 0;
    KERNOPS_EACH(n, Entries::eighth)
      KERNOPS_EACH(r, Own::rows / 2)
        KERNOPS_EACH(e, 4) c[n][r][e] = 0;
    KERNOPS_UNROLL_BY(2)
    for (int k = 0; k < L::C; ++k) {
      typename Numbers::template Part<2> w[Own::rows];
      numbers<Pairs>(o, kept, Own::column(2 * k), [&](int r, T even, T odd) {
        const Few<2, T> both{{power(r, even), power(r, odd)}};
        if constexpr (shifts<Formula>()) {
          highest[r] = larger(odd, larger(even, highest[r]));
          KERNOPS_EACH(e, 2)
            if (Own::column(2 * k) + e < count) mass[r] += both.v[e];
        }
        w[r] = Numbers::part(both);
      });
      totals.multiply_columns(c, w, entries, 0, k);
    }
  }
  // Multiplies the scalars of a tile by the vectors of its columns. If the exponents of the tile are much larger than
  // earlier exponents, the computation is repeated with a new shift. Returns whether the product is finite; all threads
  // of a warp return the same value.
  template <class Pairs, class O, class Kept>
  __device__ __forceinline__ bool multiplied(Products& c, T (&highest)[Own::rows], int count, const O& o,
                                             const Kept& kept, const Entries& entries) {
    T mass[Own::rows], check = 0;
    bool again = false;
    if constexpr (shifts<Formula>())
      KERNOPS_EACH(r, Own::rows) highest[r] = totals.seen.shift[r];
    do {
      multiply<Pairs>(c, mass, highest, count, o, kept, entries);
      if constexpr (shifts<Formula>()) {
        again = !again && totals.seen.outgrown(highest);
        if (again) totals.follow(highest);
      }
    } while (again);
    if constexpr (shifts<Formula>())
      KERNOPS_EACH(r, Own::rows) totals.numbers[r] += mass[r];
    KERNOPS_EACH(n, Entries::eighth)
      KERNOPS_EACH(r, Own::rows / 2)
        KERNOPS_EACH(e, 4) check += c[n][r][e] * T(0);
    return __all_sync(~0u, check == 0);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
