// The sums of cuda/wide/vector_sum_scaled.cuh for longer vectors, whose totals exceed the registers of a thread
// (ByTiles in cuda/wide/vector_sum.cuh).
#pragma once
#include <kernops/cuda/wide/vector_sum_scaled.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Keeps the scalars of some tiles in local memory, and computes the totals of these tiles for one batch of entries
// after another.
template <class Formula, class Row, class BlockPairs, class L>
struct SumByTiles : SumOfBlock<Formula, Row, BlockPairs, typename L::template With<8>> {
  using Base = SumOfBlock<Formula, Row, BlockPairs, typename L::template With<8>>;
  using typename Base::Columns;
  using typename Base::Layout;
  using typename Base::Own;
  using Numbers = ScaledNumbers<Layout>;
  using Contract = ScaledContract<Layout, Formula>;
  static constexpr bool ahead = false;
  static constexpr int batches = 1, columns = 8 * Layout::C, parts = columns / Numbers::columns,
                       most = 1024 / L::rows / columns;
  static constexpr int passes = (Contract::chunks + 7) / 8, runs = (Contract::chunks + passes - 1) / passes,
                       at_once = Contract::at_once;
  using S = EntryBatch<float, 1, runs>;
  using Sums = Totals<Formula, Row, Layout, S>;
  struct KeptTile {
    const float* columns;
    int column_count;
    bool scaled;
    union {
      Numbers products[parts];
      Contracted<float, Layout> exact;
    };
  };
  const float unit;
  using Memory = KeptTile[most];
  Memory& tiles;
  int count = 0;
  float sums[Own::rows] = {};  // sums of the scalars
  bool begun = false;

  __device__ __forceinline__ SumByTiles(const PairJob& job, int, Columns&, Memory& tiles)
      : Base(job), unit(unit_of_columns<Formula>(this->begin.once)), tiles(tiles) {}

  template <class Pairs, class O, class Values, class Kept>
  __device__ __forceinline__ void take(const TilePlace<float>& at, const O& o, const Values& values, int,
                                       const Kept& kept, float*, int) {
    keep<!SameType<Pairs, Formula>::value>(at, this->template numbers_of<Pairs>(at, o, values, kept, 0.0f));
  }
  template <class O>
  __device__ __forceinline__ void add(const TilePlace<float>&, const O& o, float* shared, bool last) {
    __syncthreads();
    if (count < most && !last) return;
    add_batches(o, shared, last);
    __syncthreads();
  }
  __device__ __forceinline__ void hand_over_nothing() const {
    for (int pass = 0; pass < passes; ++pass) Base::hand_over_nothing(Sums(pass * S::size));
  }

 private:
  template <bool near>
  __device__ __forceinline__ void keep(const TilePlace<float>& at, const Contracted<float, Layout>& numbers) {
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
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(n, Own::columns) sums[r] += numbers.v[r][n];
  }

  __device__ __forceinline__ TilePlace<float> place(int n) const {
    TilePlace<float> at = this->begin;
    at.columns = tiles[n].columns, at.column_count = tiles[n].column_count;
    return at;
  }
  __device__ __forceinline__ void send_stage(int n, int chunk, float* to) const {
    Contract::template send<at_once>(place(n), to, chunk);
  }
  // For all kept tiles, adds the products of the scalars and the vectors to the totals. The caller synchronises the
  // threads before and after the call.
  template <class O> __device__ __forceinline__ void add_batches(const O& o, float* shared, bool last) {
    float *now = shared, *next = shared + Contract::stage;
    send_stage(0, 0, now);
    KERNOPS_UNROLL_BY(1)
    for (int batch = 0; batch < passes; ++batch) {
      Sums totals(batch * S::size);
      KERNOPS_EACH(r, Own::rows) totals.numbers[r] = sums[r];
      KERNOPS_UNROLL_BY(1)
      for (int n = 0; n < count; ++n) {
        const KeptTile& tile = tiles[n];
        add_stage<0>(totals, tile, n, now, next);
        if constexpr (runs > at_once) add_stage<at_once>(totals, tile, n, now, next);
        if (!tile.scaled) this->add_exactly(totals, place(n), o, tile.exact);
      }
      totals.begun = begun;
      this->hand_over(totals, last);
    }
    KERNOPS_EACH(r, Own::rows) sums[r] = 0;
    count = 0, begun = true;
  }
  // Adds the products of a tile to the totals of some runs (groups of adjacent entries), from run `first` on. During
  // these products, the next runs are loaded.
  template <int first>
  __device__ __forceinline__ void add_stage(Sums& totals, const KeptTile& tile, int n, float*& now,
                                            float*& next) const {
    constexpr bool is_end = first + at_once >= runs;
    const int batch = totals.base / S::size, first_chunk = batch * runs;
    wait_for_sent<L::warpgroups != 0>();
    __syncthreads();
    if (!is_end)
      send_stage(n, first_chunk + first + at_once, next);
    else if (n + 1 < count)
      send_stage(n + 1, first_chunk, next);
    else if (batch + 1 < passes)
      send_stage(0, first_chunk + runs, next);
    if (tile.scaled) KERNOPS_UNROLL_BY(1)
    for (int part = 0; part < parts; ++part)
      add_products<columns, first, is_end ? runs : first + at_once>(totals, tile.products[part], now,
                                                                    part * Numbers::columns, unit);
    swap(now, next);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
