// Weighted sums of long vectors: for each row, the sum over the columns of a scalar of the pair times a vector. The
// code calls these scalars `numbers`. The vector belongs to the column, or is a function of row and column such as x -
// y in gradients. All cases have the same two loops. The outer loop processes the entries of the vectors in batches, so
// that the totals of a batch stay in registers. The inner loop processes the tiles of a block. The generated text names
// the policy that multiplies the scalars of a tile by the vectors:
//
//   ByEntries  any scalars and vectors; computes the scalars again for each batch (vector_sum_entries.cuh)
//   OfColumns  vectors of columns, and scalars that need no contraction; multiplies directly (vector_sum_columns.cuh)
//   Whole      vectors that a contraction reads; keeps all totals in registers (vector_sum_scaled.cuh)
//   ByTiles    longer vectors that a contraction reads; keeps the scalars of some tiles, then adds one batch of entries
//              after another (vector_sum_long.cuh)
#pragma once
#include <kernops/cuda/wide/vector_sum_columns.cuh>
#include <kernops/cuda/wide/vector_sum_entries.cuh>
#include <kernops/cuda/wide/vector_sum_long.cuh>
#include <kernops/cuda/wide/vector_sum_merge.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

#define KERNOPS_BATCHING(name, Policy)                                \
  struct name {                                                       \
    template <class... Parameters> using Sum = Policy<Parameters...>; \
  };
KERNOPS_BATCHING(ByEntries, SumByEntries)
KERNOPS_BATCHING(OfColumns, SumOfColumns)
KERNOPS_BATCHING(Whole, SumWhole)
KERNOPS_BATCHING(ByTiles, SumByTiles)
#undef KERNOPS_BATCHING
template <class Row, class Batching> struct VectorSum {};

template <class Formula, class L, class Row, class Batching, class BlockPairs>
struct PairKernel<Formula, L, VectorSum<Row, Batching>, BlockPairs> {
  using Sum = typename Batching::template Sum<Formula, Row, BlockPairs, L>;
  using Layout = typename Sum::Layout;
  static_assert(L::warpgroups == 0 || SameType<Batching, Whole>::value, "other sums have warps that multiply alone");
  static constexpr int threads = L::threads, blocks = Sum::blocks, partial_bytes = sizeof(Row) * kept_totals<Formula>(),
                       shared_bytes = TileMemory<Formula, Layout, Sum::room>::asked_for;

  static __device__ __forceinline__ void run(const PairJob& job) {
    __shared__ typename Sum::Columns columns;
    KERNOPS_UNROLL_BY(1)
    for (int batch = 0; batch < Sum::batches; ++batch) {
      typename Sum::Memory memory;
      Sum sum(job, batch, columns, memory);
      for_tiles<Formula, BlockPairs, Layout, Sum::room, Sum::ahead>(
          sum.block, sum.rows.norms, [&](const auto& at, int turn) { sum.send(at, turn); },
          [&](auto kind, const auto& at, const auto& o, const auto& values, long long first, const auto& kept,
              auto* shared, int turn) {
            sum.template take<typename decltype(kind)::type>(at, o, values, int(first), kept, shared, turn);
          },
          [&](const auto& at, const auto& o, auto* shared, bool last) { sum.add(at, o, shared, last); });
      if (!sum.block.any()) sum.hand_over_nothing();
      if (Sum::ahead && Sum::batches > 1) __syncthreads();  // the next batch of entries uses the same memory
    }
  }
};
#define KERNOPS_VECTOR_SUM_MERGE(Formula, Row) \
  KERNOPS_KERNEL(kernops_merge, kernops::PairJob, kernops::merge_totals<Formula, Row>)

}  // namespace KERNOPS_ISA
}  // namespace kernops
