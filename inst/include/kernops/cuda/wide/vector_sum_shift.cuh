// What exponentials are seen from where they weigh vectors (cuda/wide/vector_sum.cuh): an exponent of their row which
// no other so far exceeds by more than 8; the largest one where that is a result.
#pragma once
#include <kernops/cuda/wide/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// With totals of exponentials two more are kept of a row: the sum of the numbers, and what they are seen from.
template <class Formula> KERNOPS_FN constexpr int kept_totals() {
  return Formula::VectorSum::size + (shifts<Formula>() ? 2 : 0);
}
// Where a block has the totals of its rows, the first of which is number `first`.
template <class Formula, class Row>
__device__ __forceinline__ Row* totals_of_block(const PairJob& job, long long first) {
  return static_cast<Row*>(job.partials) + split_of_block() * kept_totals<Formula>() * job.partial_rows + first;
}
template <class Formula, class Row> KERNOPS_FN typename Formula::T& kept_shift(Row* totals, long long stride) {
  return *reinterpret_cast<typename Formula::T*>(totals + (Formula::VectorSum::size + 1) * stride);
}

// Of a thread's rows, which others of its warp have, too.
template <class Formula, class L> struct SeenFrom {
  using T = typename Formula::T;
  using Own = OwnPairs<L>;
  using Powers = typename Formula::Powers;
  T shift[Own::rows];

  // To batches of entries after the first one, all is known.
  template <class Row> __device__ __forceinline__ void begin(bool known, Row* totals, long long stride, int row_count) {
    KERNOPS_EACH(r, Own::rows)
      shift[r] =
          known && Own::row(r) < row_count ? kept_shift<Formula>(totals + Own::row(r), stride) : Powers::lowest();
  }
  __device__ __forceinline__ T power(int r, T exponent) const { return Powers::of(exponent, shift[r]); }
  // From the largest exponent on that a thread has met: what the totals of row r are to be multiplied by. To be called
  // by all threads of a warp: those of a row have met different columns.
  __device__ __forceinline__ T follow(int r, T highest) {
    KERNOPS_UNROLL
    for (int step = 1; step < Own::sharing; step *= 2) highest = larger(__shfl_xor_sync(~0u, highest, step), highest);
    const T before = shift[r];
    shift[r] = Powers::shift(highest);
    return Powers::change(before, shift[r]);
  }
  // Whether exponentials of what a warp has met would be too large.
  __device__ __forceinline__ bool outgrown(const T (&highest)[Own::rows]) const {
    bool much = false;
    KERNOPS_EACH(r, Own::rows) much = much || highest[r] > shift[r] + T(most_excess);
    return __any_sync(~0u, much);
  }
};
struct SeenFromNothing {};
template <class Formula, class L, bool = shifts<Formula>()> struct SeenFromFor { using type = SeenFromNothing; };
template <class Formula, class L> struct SeenFromFor<Formula, L, true> { using type = SeenFrom<Formula, L>; };

}  // namespace KERNOPS_ISA
}  // namespace kernops
