// Sums of differences x - y, each times a number of the pair, where x and y are the vectors of an exponent that is
// expanded, as in the gradient of a Gaussian: x sum w - sum w y. What the exponent's inner products read of the
// columns, numbers of 16 bits seen from the centre and scaled, is also what is added up, in shared memory already. The
// numbers w become such, too. Likewise sums of y where pairs have a function of (x | y), as in its gradient: columns
// have powers of two there (`power`), which the numbers take.
#pragma once
#include <kernops/cuda/wide/vector_sum_totals.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The numbers of a thread's pairs with 32 columns, as two numbers of 16 bits each. A power of 2 for each row keeps them
// away from the ends of these: the largest are about 4.
template <class L> struct ScaledNumbers {
  using Own = OwnPairs<typename L::template With<4>>;
  static constexpr int columns = 32, groups = 2;  // of 16 columns, that are added up at a time
  Halves::Part<4> part[groups][Own::rows];
  float back[Own::rows];  // what undoes the power

  // From number `first` of each row on; whether all of them are finite. To be called by all threads of a warp.
  template <class Wider> __device__ __forceinline__ bool take(const Contracted<float, Wider>& w, int first) {
    bool finite = true;
    KERNOPS_EACH(r, Own::rows) {
      float most = 0;
      KERNOPS_EACH(n, Own::columns) most = larger_or_nan(abs(w.v[r][first + n]), most);
      KERNOPS_UNROLL
      for (int step = 1; step < Own::sharing; step *= 2) most = larger_or_nan(most, __shfl_xor_sync(~0u, most, step));
      finite = finite && most < infinity<float>();
      const int exponent = __float_as_int(most) >> 23, within = exponent < 15 ? 15 : exponent;
      const float scale = __int_as_float((256 - within) << 23);
      back[r] = __int_as_float((within - 2) << 23);
      KERNOPS_EACH(k, groups) {
        const float* some = w.v[r] + first + 4 * k;
        part[k][r] = Halves::split(some[0] * scale, some[1] * scale, some[2] * scale, some[3] * scale);
      }
    }
    return __all_sync(~0u, finite);
  }
};

// Adds numbers times vectors, for runs `from` to `to` of the totals, each a chunk; those of 32 columns from number
// `first` on, in a stage that has so many, begin at chunk 0. The vectors are to be multiplied by `unit`.
template <int stage_columns, int from, int to, class Totals, class L>
__device__ __forceinline__ void add_products(Totals& totals, const ScaledNumbers<L>& w, const float* stage, int first,
                                             float unit) {
  using Own = typename ScaledNumbers<L>::Own;
  using S = typename Totals::Batch;
  constexpr int groups = ScaledNumbers<L>::groups;
  float factor[Own::rows];
  KERNOPS_EACH(r, Own::rows) factor[r] = w.back[r] * unit;
  KERNOPS_UNROLL
  for (int q = from; q < to; ++q) {
    if (totals.base + q * S::run >= Totals::Terms::size) break;
    Halves::Part<4> y[groups][2];
    float c[2][Own::rows / 2][4] = {};
    KERNOPS_EACH(k, groups)
      KERNOPS_EACH(u, 2) {
        y[k][u] = Halves::along_columns<stage_columns>(stage, q - from, first + 16 * k, u);
        KERNOPS_EVERY(r, 2, Own::rows) Halves::add_rest(c[u][r / 2], w.part[k][r], w.part[k][r + 1], y[k][u]);
      }
    KERNOPS_EACH(k, groups)
      KERNOPS_EACH(u, 2)
        KERNOPS_EVERY(r, 2, Own::rows) Halves::add(c[u][r / 2], w.part[k][r], w.part[k][r + 1], y[k][u]);
    KERNOPS_EACH(u, 2)
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(odd, 2) Totals::add(totals.sum[r][q][2 * u + odd], factor[r], c[u][r / 2][r % 2 * 2 + odd]);
  }
}

// The same for all runs, by warp groups, two runs at a time: large and small parts of vectors are one matrix, and the
// products of small parts are made, too. Only what is `finite` joins the totals.
template <class Totals, class L>
__device__ __forceinline__ void add_products(Totals& totals, const ScaledNumbers<L>& w, const float* stage, float unit,
                                             bool finite) {
  using Numbers = ScaledNumbers<L>;
  using Own = typename Numbers::Own;
  constexpr int runs = Totals::Batch::runs, chunk = Numbers::columns * 4;  // units of a chunk
  const unsigned y = place_of(stage + totals.base * Numbers::columns);
  float factor[Own::rows];
  KERNOPS_EACH(r, Own::rows) factor[r] = w.back[r] * unit;
  KERNOPS_EVERY(q, 2, runs) {
    float c[32];
    begin_products();
    KERNOPS_EACH(k, Numbers::groups) {
      const auto some = found_at(y + q * chunk + k * 64, q + 1 < runs ? chunk : 0);
      multiply_numbers(c, w.part[k][0].high, w.part[k][1].high, some, k > 0);
      multiply_numbers(c, w.part[k][0].low, w.part[k][1].low, some, true);
    }
    end_products();
    if (finite) KERNOPS_UNROLL
    for (int p = 0; p < 2 && q + p < runs; ++p)
      KERNOPS_EACH(u, 2)
        KERNOPS_EACH(r, Own::rows)
          KERNOPS_EACH(odd, 2) {
            const float* both = c + 16 * p + 4 * u + 2 * r + odd;
            Totals::add(totals.sum[r][q + p][2 * u + odd], factor[r], both[0] + both[8]);
          }
  }
}

// What multiplies the scaled vectors of columns, where they are added up.
template <class Formula> __device__ __forceinline__ float unit_of_columns(const float* once) {
  if constexpr (Formula::VectorSum::power >= 0) return 1 / halves_scale;
  const float c = once[Formula::VectorSum::factor];
  return c == 0 ? 0.0f : float(Formula::VectorSum::of_column) / (halves_scale * sqrt(abs(2 * c)));
}

// The numbers of a thread's pairs in a tile.
template <class Pairs, class L, class O, class X, class Values, class Kept>
__device__ __forceinline__ void take_numbers(Contracted<float, L>& numbers, const TilePlace<float>& at, const O& o,
                                             const X& x, const Values& values, const Kept& kept) {
  own_pairs<Pairs, L, 1>(at, o, x, values, kept, [&](int r, int n, const auto& f, const auto&, int count) {
    numbers.v[r][n] = count ? f[0][0] : 0.0f;
  });
}

// The same times what the vectors of columns have been divided by.
template <class Formula, class L, class Kept>
__device__ __forceinline__ Contracted<float, L> with_powers(const Contracted<float, L>& numbers, const Kept& kept) {
  constexpr int power = Formula::VectorSum::power;
  Contracted<float, L> product = numbers;
  if constexpr (power >= 0)
    KERNOPS_EACH(n, OwnPairs<L>::columns) {
      const float factor = kept.of(OwnPairs<L>::column(n)).v[power];
      KERNOPS_EACH(r, OwnPairs<L>::rows) product.v[r][n] *= factor;
    }
  return product;
}

// Those sums, with the totals of all entries in registers: the vectors of a tile are one stage of shared memory.
// long: one kernel; what its parts share lives in registers
template <class Formula, class Row, class BlockPairs, class L>
__device__ __forceinline__ void scaled_vector_sum(const PairJob& job) {
  using Contract = typename AllContractions<float, L, typename Formula::Near::Contractions>::Contract;
  static_assert(Contract::whole && L::C == 4, "as the recipe says (cuda/pairs/choose.cpp)");
  using S = EntryBatch<float, 1, (Contract::chunks + L::sharing - 1) / L::sharing>;
  Block<Formula, BlockPairs, L> block(job);
  const TilePlace<float> begin = block.place(block.begin);
  Row* kept = totals_of_block<Formula, Row>(job, block.first);
  const OwnRows<Formula, L> rows(begin);
  const float unit = unit_of_columns<Formula>(begin.once);
  Totals<Formula, Row, L, S> totals(L::sharing == 2 ? threadIdx.x / 128 * S::size : 0);
  Contracted<float, L> exact;
  bool added = false;
  for_tiles<Formula, BlockPairs, L, 0, true>(
      block, rows.norms, [](const auto&, int) {},
      [&](auto kind, const auto& at, const auto& o, const auto& values, long long, const auto& kept_columns,
          const float* stage, int) {
        using Pairs = typename decltype(kind)::type;
        Contracted<float, L> numbers;
        take_numbers<Pairs>(numbers, at, o, rows.x, values, kept_columns);
        if constexpr (!SameType<Pairs, Formula>::value) {
          ScaledNumbers<L> scaled;
          added = scaled.take(with_powers<Formula>(numbers, kept_columns), 0);
          if constexpr (L::warpgroups > 0) {
            if (added)
              totals.add_numbers(numbers);
            else
              exact = numbers;
            return add_products(totals, scaled, stage, unit, added);
          } else if (added) {
            totals.add_numbers(numbers);
            return add_products<Block<Formula, BlockPairs, L>::Tile::columns, 0, S::runs>(totals, scaled, stage, 0,
                                                                                          unit);
          }
        }
        added = false, exact = numbers;
      },
      [&](const auto& at, const auto& o, auto, bool last) {
        if (!added) add_exactly(totals, at, o, exact);
        if (++totals.tiles == totals.most_tiles || last) totals.hand_over(block, begin, kept, job.partial_rows, last);
      });
  if (!block.any()) totals.hand_over_nothing(kept, job.partial_rows, block.row_count);
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
