// The totals of sums of long vectors (cuda/wide/vector_sum.cuh), and how the pairs of a tile join them.
#pragma once
#include <kernops/cuda/wide/vector_sum_entries.cuh>
#include <kernops/cuda/wide/vector_sum_shift.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// 16 bytes of each of some vectors, which start at their offsets from here.
template <class Offsets, int quad, class T, int N>
__device__ __forceinline__ void load_quad(const T* from, Vec<T, N>* to) {
  KERNOPS_EACH(n, Offsets::count) {
    const auto some = few<quad>(from + Offsets::nth(n));
    KERNOPS_EACH(e, quad) to[e].v[n] = some.v[e];
  }
}

// Whether threads multiply matrices with the numbers of their pairs, whose products join the totals.
template <class Formula, class Row> KERNOPS_FN constexpr bool adds_matrices() {
  constexpr bool by_cores = !SameType<typename Formula::VectorSum::Atom, Plain>::value;
  static_assert(!by_cores || (Formula::in_place && Row::adds_tiles),
                "numbers of pairs that threads have, and plain sums");
  return by_cores;
}

// The totals of a thread, for a batch that begins at `base`.
template <class Formula, class Row, class L, class S> struct Totals {
  using Batch = S;
  using Layout = L;
  using T = typename Formula::T;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  using Terms = typename Formula::VectorSum;
  using PairNumbers = Contracted<T, L>;
  static constexpr bool sums_numbers = Terms::of_row != 0 || shifts<Formula>();
  // that are added up before the totals are; fewer where each is so many terms
  static constexpr int most_tiles = (Terms::numbers > 0 ? 512 : 4096) / Tile::columns;
  const int base;
  Row sum[Own::rows][S::runs][S::own];
  T numbers[Own::rows];  // their sums, of what sum w x takes, or of exponentials
  typename SeenFromFor<Formula, L>::type seen;
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

  // Takes the runs one after another, out of the way of products: take(q, where its totals stand). Of many, registers
  // change places, so that the code is that of one: compiling them all takes seconds. Of few, that costs registers
  // which products need.
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

  // Entry k of the vector of a row, as those of columns are added up.
  __device__ __forceinline__ T row_entry(const TilePlace<T>& at, int r, int k) const {
    T x = row_item(at, r)[Terms::Rows::nth(0) + k];
    if (Terms::centre >= 0) x -= at.once[Terms::centre + k];
    return Terms::roots >= 0 ? x * at.once[Terms::roots + k] : x;
  }

  // Numbers times vectors, as matrices: whether that was done, for which these must be `able`, and all finite. To be
  // called by all threads.
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

  // Exponents become exponentials, and join their sum; to be called by all threads of a warp.
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
  // Totals as seen from the largest exponents.
  __device__ __forceinline__ void follow(const T (&highest)[Own::rows]) {
    KERNOPS_EACH(r, Own::rows) {
      const T factor = seen.follow(r, highest[r]);
      if (__all_sync(~0u, factor == 1)) continue;  // as soon as most columns were met
      numbers[r] *= factor;
      KERNOPS_EACH(q, S::runs)
        KERNOPS_EACH(e, S::own) sum[r][q][e].scale(factor);
    }
  }

  template <class Columns> __device__ __forceinline__ void multiply(const Contracted<T, L>& w, const Columns& columns) {
    using Numbers = typename Terms::Atom;
    using Part = typename Numbers::template Part<2>;
    Part split[Own::rows][L::C];
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(k, L::C) {
        split[r][k] = Numbers::part(Few<2, T>{{w.v[r][2 * k], w.v[r][2 * k + 1]}});
      }
    if (Terms::of_row != 0) add_numbers(w);
    KERNOPS_EACH(q, S::runs) {
      if (base + q * S::run >= Terms::size) break;
      T c[Columns::eighth][Own::rows / 2][4] = {};
      KERNOPS_EACH(k, L::C) {
        const auto even = columns.part(q, Own::column(2 * k), Own::i()),
                   odd = columns.part(q, Own::column(2 * k + 1), Own::i());
        KERNOPS_EACH(n, Columns::eighth) {
          const Part y = Numbers::part(Few<2, T>{{even.v[n], odd.v[n]}});
          KERNOPS_EVERY(r, 2, Own::rows) {
            Numbers::add_rest(c[n][r / 2], split[r][k], split[r + 1][k], y);
            Numbers::add(c[n][r / 2], split[r][k], split[r + 1][k], y);
          }
        }
      }
      add_run(q, c);
    }
  }
  template <int eighth> __device__ __forceinline__ void add_run(int q, const T (&c)[eighth][Own::rows / 2][4]) {
    KERNOPS_EACH(n, eighth)
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(odd, 2) add(sum[r][q][eighth * odd + n], T(Terms::of_column), c[n][r / 2][r % 2 * 2 + odd]);
  }

  // Numbers times vectors, term by term; number_of(column, r) for the thread's row r. The tile's first column is
  // number `first`.
  template <class O, class NumberOf>
  __device__ __forceinline__ void add_terms(const TilePlace<T>& at, const O& o, int first, NumberOf number_of) {
    each_run([&](int q, int there) {
      Vec<T, Terms::Rows::room> x[Own::rows][S::own];
      Vec<T, Terms::Once::room> z[S::own];
      int from[S::units];  // the first of each 16 bytes; those beyond the end are made, but not kept
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

  // Of the threads that share rows; and by what totals change that are kept.
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
  // Into the totals of the block, which stand rows side by side, entry after entry.
  template <class Block>
  __device__ __forceinline__ void hand_over(const Block& block, const TilePlace<T>& at, Row* totals, long long stride,
                                            bool last) {
    T change[Own::rows];
    join_numbers(change, at.row_count, totals, stride);
    const auto exists = [&](int r, int q, int e) { return Own::row(r) < at.row_count && entry(q, e) < Terms::size; };
    const auto place = [&](int r, int q, int e) { return totals + entry(q, e) * stride + Own::row(r); };
    each_run([&](int q, int there) {
      Row total[Own::rows][S::own];  // all are read before one is written
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(e, S::own) {
          total[r][e].start();
          if (!exists(r, q, e)) continue;
          if (begun) total[r][e] = *place(r, q, e);
          if constexpr (shifts<Formula>()) total[r][e].scale(change[r]);
          if (Terms::of_row != 0) add(sum[r][there][e], numbers[r], T(Terms::of_row) * row_entry(at, r, entry(q, e)));
        }
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(e, S::own) {
          if (!exists(r, q, e)) continue;
          total[r][e].absorb(sum[r][there][e]);
          total[r][e].settle();
          if constexpr (Formula::factor >= 0)
            if (last) total[r][e].scale(row_item(at, r)[Formula::factor]);
          if constexpr (Formula::entry_factors >= 0)
            if (last) total[r][e].scale(at.once[Formula::entry_factors + entry(q, e)]);
          if (last) block.complete(total[r][e]);
          *place(r, q, e) = total[r][e];
        }
    });
    if constexpr (shifts<Formula>()) hand_over_numbers(block, change, totals, stride, last);
    begun = true, tiles = 0;
    start();
  }
  template <class Block>
  __device__ __forceinline__ void hand_over_numbers(const Block& block, const T (&change)[Own::rows], Row* totals,
                                                    long long stride, bool last) {
    __syncwarp();  // all have read what is written now
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
  // Where there are no columns.
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

// Adds the numbers of a tile, in local memory, term by term.
template <class Totals, class T, class O, class L>
__device__ __forceinline__ void add_exactly(Totals& totals, const TilePlace<T>& at, const O& o,
                                            const Contracted<T, L>& w) {
  totals.add_terms(at, o, 0, [&](int column, int r) {
    return __shfl_sync(~0u, w.v[r][column / 8 * 2 + column % 2], column % 8 / 2, OwnPairs<L>::sharing);
  });
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
