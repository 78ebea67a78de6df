// The sums of cuda/wide/vector_sum_scaled.cuh for vectors so long that a thread has no room for the totals of all their
// entries.
#pragma once
#include <kernops/cuda/wide/vector_sum_scaled.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The numbers of some tiles are kept, in local memory; then these are added up for one batch of entries after another.
template <class Formula, class Row, class BlockPairs, class L> struct LongVectorSum {
  using Numbers = ScaledNumbers<L>;
  static constexpr int columns = 8 * L::C, parts = columns / Numbers::columns, most = 1024 / L::rows / columns;
  using Contract = typename AllContractions<float, L, typename Formula::Near::Contractions>::Contract;
  static constexpr int batches = (Contract::chunks + 7) / 8, runs = (Contract::chunks + batches - 1) / batches,
                       at_once = Contract::at_once;
  using S = EntryBatch<float, 1, runs>;
  using Sums = Totals<Formula, Row, L, S>;
  struct KeptTile {
    const float* columns;
    int column_count;
    bool scaled;
    union {
      Numbers products[parts];
      Contracted<float, L> exact;
    };
  };
  const PairJob& job;
  Block<Formula, BlockPairs, L> block;
  const TilePlace<float> begin;
  Row* const kept;
  const float unit;
  KeptTile tiles[most];
  int count = 0;
  float sums[OwnPairs<L>::rows] = {};  // of the numbers that are multiplied
  bool begun = false;

  explicit __device__ __forceinline__ LongVectorSum(const PairJob& job)
      : job(job),
        block(job),
        begin(block.place(block.begin)),
        kept(totals_of_block<Formula, Row>(job, block.first)),
        unit(unit_of_columns<Formula>(begin.once)) {}

  template <bool near>
  __device__ __forceinline__ void keep(const TilePlace<float>& at, const Contracted<float, L>& numbers) {
    KeptTile& tile = tiles[count++];
    tile.columns = at.columns, tile.column_count = at.column_count, tile.scaled = near;
    if constexpr (near) {
      KERNOPS_EACH(n, parts) {
        Numbers scaled;
        if (!scaled.take(numbers, n * Numbers::Own::columns)) tile.scaled = false;
        tile.products[n] = scaled;
      }
    }
    if (!tile.scaled) {
      tile.exact = numbers;
      return;
    }
    KERNOPS_EACH(r, OwnPairs<L>::rows)
      KERNOPS_EACH(n, OwnPairs<L>::columns) sums[r] += numbers.v[r][n];
  }

  __device__ __forceinline__ TilePlace<float> place(int n) const {
    TilePlace<float> at = begin;
    at.columns = tiles[n].columns, at.column_count = tiles[n].column_count;
    return at;
  }
  __device__ __forceinline__ void send(int n, int chunk, float* to) const {
    Contract::template send<at_once>(place(n), to, chunk);
  }
  // What is kept joins the totals; threads are to wait for each other before and after.
  template <class O> __device__ __forceinline__ void add(const O& o, float* shared, bool last) {
    float *now = shared, *next = shared + Contract::stage;
    send(0, 0, now);
    KERNOPS_UNROLL_BY(1)
    for (int batch = 0; batch < batches; ++batch) {
      Sums totals(batch * S::size);
      KERNOPS_EACH(r, OwnPairs<L>::rows) totals.numbers[r] = sums[r];
      KERNOPS_UNROLL_BY(1)
      for (int n = 0; n < count; ++n) {
        const KeptTile& tile = tiles[n];
        add_stage<0>(totals, tile, n, now, next);
        if constexpr (runs > at_once) add_stage<at_once>(totals, tile, n, now, next);
        if (!tile.scaled) add_exactly(totals, place(n), o, tile.exact);
      }
      totals.begun = begun;
      totals.hand_over(block, begin, kept, job.partial_rows, last);
    }
    KERNOPS_EACH(r, OwnPairs<L>::rows) sums[r] = 0;
    count = 0, begun = true;
  }
  // Runs of a tile from `first` on, while the next ones come.
  template <int first>
  __device__ __forceinline__ void add_stage(Sums& totals, const KeptTile& tile, int n, float*& now,
                                            float*& next) const {
    constexpr bool is_end = first + at_once >= runs;
    const int batch = totals.base / S::size, first_chunk = batch * runs;
    wait_for_sent<L::warpgroups != 0>();
    __syncthreads();
    if (!is_end)
      send(n, first_chunk + first + at_once, next);
    else if (n + 1 < count)
      send(n + 1, first_chunk, next);
    else if (batch + 1 < batches)
      send(0, first_chunk + runs, next);
    if (tile.scaled) KERNOPS_UNROLL_BY(1)
    for (int part = 0; part < parts; ++part)
      add_products<columns, first, is_end ? runs : first + at_once>(totals, tile.products[part], now,
                                                                    part * Numbers::columns, unit);
    swap(now, next);
  }

  __device__ __forceinline__ void run() {
    const OwnRows<Formula, L> rows(begin);
    for_tiles<Formula, BlockPairs, L, 0, false>(
        block, rows.norms, [](const auto&, int) {},
        [&](auto kind, const auto& at, const auto& o, const auto& values, long long, const auto& kept_columns, float*,
            int) {
          using Pairs = typename decltype(kind)::type;
          Contracted<float, L> numbers;
          take_numbers<Pairs>(numbers, at, o, rows.x, values, kept_columns);
          keep<!SameType<Pairs, Formula>::value>(at, numbers);
        },
        [&](const auto&, const auto& o, float* shared, bool last) {
          __syncthreads();
          if (count < most && !last) return;
          add(o, shared, last);
          __syncthreads();
        });
    if (!block.any())
      for (int batch = 0; batch < batches; ++batch)
        Sums(batch * S::size).hand_over_nothing(kept, job.partial_rows, block.row_count);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
