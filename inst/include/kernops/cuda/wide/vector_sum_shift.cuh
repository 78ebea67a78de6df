// The shift subtracted from exponents in weighted sums of vectors (cuda/wide/vector_sum.cuh) is an exponent of the row.
// No exponent whose exponential has been added to the totals exceeds the shift by more than 8. If the largest exponent
// is one of the results, the shift is the largest exponent.
#pragma once
#include <kernops/cuda/wide/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Totals weighted by exponentials have two additional numbers for each row: the sum of the exponentials, and their
// shift.
template <class Formula> KERNOPS_FN constexpr int kept_totals() {
  return Formula::VectorSum::size + (shifts<Formula>() ? 2 : 0);
}
// The address of the totals of a block whose first row is `first`.
template <class Formula, class Row>
__device__ __forceinline__ Row* totals_of_block(const PairJob& job, long long first) {
  return static_cast<Row*>(job.partials) + split_of_block() * kept_totals<Formula>() * job.partial_rows + first;
}
template <class Formula, class Row> KERNOPS_FN typename Formula::T& kept_shift(Row* totals, long long stride) {
  return *reinterpret_cast<typename Formula::T*>(totals + (Formula::VectorSum::size + 1) * stride);
}

// The shifts of a thread's rows; the threads that share a row hold equal shifts.
template <class Formula, class L, bool = shifts<Formula>()> struct SeenFrom {
  using T = typename Formula::T;
  using Own = OwnPairs<L>;
  using Powers = typename Formula::Powers;
  T shift[Own::rows];

  // The first batch of entries stores the shifts, and later batches read the stored shifts.
  template <class Row> __device__ __forceinline__ void begin(bool known, Row* totals, long long stride, int row_count) {
    KERNOPS_EACH(r, Own::rows)
      shift[r] =
          known && Own::row(r) < row_count ? kept_shift<Formula>(totals + Own::row(r), stride) : Powers::lowest();
  }
  __device__ __forceinline__ T power(int r, T exponent) const { return Powers::of(exponent, shift[r]); }
  // Sets the shift of row r to the largest exponent of the threads that share this row, and returns the factor by which
  // the totals of the row must be rescaled. All threads of a warp call this function, because the threads that share a
  // row have read different columns.
  __device__ __forceinline__ T follow(int r, T highest) {
    KERNOPS_UNROLL
    for (int step = 1; step < Own::sharing; step *= 2) highest = larger(__shfl_xor_sync(~0u, highest, step), highest);
    const T before = shift[r];
    shift[r] = Powers::shift(highest);
    return Powers::change(before, shift[r]);
  }
  // Returns true if, in any thread of the warp, an exponent exceeds its shift by so much that the exponential would be
  // too large.
  __device__ __forceinline__ bool outgrown(const T (&highest)[Own::rows]) const {
    bool much = false;
    KERNOPS_EACH(r, Own::rows) much = much || highest[r] > shift[r] + T(most_excess);
    return __any_sync(~0u, much);
  }
};
template <class Formula, class L> struct SeenFrom<Formula, L, false> {};

}  // namespace KERNOPS_ISA
}  // namespace kernops
