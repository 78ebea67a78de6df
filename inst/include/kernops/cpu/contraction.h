// Sums over the entries of long vectors of a row and a column, for all pairs of a block of rows and a tile of columns,
// by the loops of a matrix product. Registers hold the sums for a strip (a few rows) and a panel (a few packs of
// columns), so that each loaded number serves several pairs. Entries are processed in parts that are so short that a
// panel stays in the first-level cache. The parts of a sum are added in a fixed order, which does not depend on the
// other rows and columns.
#pragma once
#include <kernops/cpu/buffer.h>
#include <kernops/cpu/tiles.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// The third factor of a term. none: no such factor. of_entry: one uniform number per entry. of_row, of_column: an entry
// of another vector of the row or of the column. of_result: one number per entry of the result.
enum class Third { none, of_entry, of_row, of_column, of_result };

// Each struct adds the term of one entry of the vectors to a sum. Differences are computed by subtraction, and not by
// the norm expansion. The expansion would lose digits if the vectors have a common offset, and saves no time on
// processors that subtract and multiply in parallel.
namespace terms {
struct Product {
  static constexpr Third third = Third::none;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V, V sum) { return fma(x, y, sum); }
};
struct Square {
  static constexpr Third third = Third::none;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V, V sum) {
    const V difference = x - y;
    return fma(difference, difference, sum);
  }
};
struct WeightedSquare {
  static constexpr Third third = Third::of_entry;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V weight, V sum) {
    const V difference = x - y;
    return fma(weight * difference, difference, sum);
  }
};
template <Third which> struct DifferenceAlong {
  static constexpr Third third = which;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V along, V sum) { return fma(x - y, along, sum); }
};
struct TimesDifference {
  static constexpr Third third = Third::of_result;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V from, V sum) { return fma(x, from - y, sum); }
};
struct TimesSquare {
  static constexpr Third third = Third::of_result;
  template <class V> static KERNOPS_INLINE V add(V x, V y, V from, V sum) {
    return WeightedSquare::add(from, y, x, sum);
  }
};
}  // namespace terms

template <class T> struct Strips {
  using V = Pack<T>;
  static constexpr int rows = 6, packs = KERNOPS_PACK_BYTES == 64 ? 4 : 2, columns = packs * V::width;
  // the stride is not a power of two, because rows whose distance is a power of two compete for few cache lines
  static constexpr int depth = 96, stride = depth + 64 / sizeof(T);

  // Negates `entries` entries of a panel.
  static void negate(T* panel, int entries) {
    for (int n = 0; n < entries * columns; n += V::width) (V(0) - V::load(panel + n)).store(panel + n);
  }

  // Adds the terms of R rows and of the first `wanted` columns of a panel to `out`. A third factor of_entry is stored
  // as a pack of equal numbers, like uniform values. Third factors of_row have the layout of `x`, and factors of_column
  // have the layout of `y`. Third factors of_result have the layout of the results, and should stay in registers.
  template <class Term, int R>
  static void add(const T* x, const T* y, const T* third, int entries, T* out, std::ptrdiff_t out_row, bool first,
                  int wanted) {
    if (beside_columns<Term>() || wanted <= 2 * V::width)
      add_columns<Term, R, 2>(x, y, third, entries, out, out_row, first, wanted);
    else
      add_columns<Term, R, packs>(x, y, third, entries, out, out_row, first, columns);
  }

  template <class Term, int R, int C>
  static void add_columns(const T* x, const T* y, const T* third, int entries, T* out, std::ptrdiff_t out_row,
                          bool first, int wanted) {
    for (int at = 0; at < wanted; at += C * V::width)
      add_packs<Term, R, C>(x, y + at, third + (beside_columns<Term>() ? at : 0), entries, out + at, out_row, first);
  }

  template <class Term> static constexpr bool beside_columns() {
    return Term::third == Third::of_result || Term::third == Third::of_column;
  }

  template <class Term, int R, int C>
  static void add_packs(const T* x, const T* y, const T* third, int entries, T* out, std::ptrdiff_t out_row,
                        bool first) {
    constexpr bool of_result = Term::third == Third::of_result, of_column = Term::third == Third::of_column;
    V sums[R][C], of_results[R][C];
    KERNOPS_IN_REGISTERS
    for (int r = 0; r < R; ++r) {
      KERNOPS_IN_REGISTERS
      for (int c = 0; c < C; ++c) {
        sums[r][c] = V(0);
        of_results[r][c] = of_result ? V::load(third + r * out_row + c * V::width) : V(0);
      }
    }
    for (int k = 0; k < entries; ++k) {
      V column[C], others[C];
      KERNOPS_IN_REGISTERS
      for (int c = 0; c < C; ++c) {
        column[c] = V::load(y + k * columns + c * V::width);
        others[c] = of_column ? V::load(third + k * columns + c * V::width) : V(0);
      }
      const V of_entry = Term::third == Third::of_entry ? V::load(third + k * V::width) : V(0);
      KERNOPS_IN_REGISTERS
      for (int r = 0; r < R; ++r) {
        const V row = x[r * stride + k];
        const V same = Term::third == Third::of_row ? V(third[r * stride + k]) : of_entry;
        KERNOPS_IN_REGISTERS
        for (int c = 0; c < C; ++c)
          sums[r][c] = Term::add(row, column[c],
                                 of_result   ? of_results[r][c]
                                 : of_column ? others[c]
                                             : same,
                                 sums[r][c]);
      }
    }
    put(sums, out, out_row, first);
  }

  // Stores the sums if `first` is true. Otherwise, `out` contains the sums over earlier entries, to which the new sums
  // are added.
  template <int R, int C>
  static KERNOPS_INLINE void put(const V (&sums)[R][C], T* out, std::ptrdiff_t out_row, bool first) {
    KERNOPS_IN_REGISTERS
    for (int r = 0; r < R; ++r) {
      KERNOPS_IN_REGISTERS
      for (int c = 0; c < C; ++c) {
        T* to = out + r * out_row + c * V::width;
        (first ? sums[r][c] : V::load(to) + sums[r][c]).store(to);
      }
    }
  }

  // Processes all rows, strip by strip. The remaining rows are processed in strips with half the number of rows.
  template <class Term, int R = rows>
  static void add_all(int count, const T* x, const T* y, const T* third, int entries, T* out, std::ptrdiff_t out_row,
                      bool first, int wanted) {
    const std::ptrdiff_t third_row = Term::third == Third::of_result ? out_row
                                     : Term::third == Third::of_row  ? stride
                                                                     : 0;
    for (; count >= R; count -= R, x += R * stride, third += R * third_row, out += R * out_row)
      add<Term, R>(x, y, third, entries, out, out_row, first, wanted);
    if constexpr (R > 1)
      if (count > 0) add_all<Term, R / 2>(count, x, y, third, entries, out, out_row, first, wanted);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
