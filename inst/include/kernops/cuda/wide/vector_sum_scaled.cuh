// Weighted sums of differences x - y, where x and y are the vectors of an expanded exponent, as in the gradient of a
// Gaussian (Whole in cuda/wide/vector_sum.cuh). With the scalar w of the pair, the sum is x sum w - sum w y. For the
// inner products of the exponent, shared memory already contains y, centred and scaled, as 16-bit numbers. Tensor cores
// multiply these numbers by w, which is also scaled to 16 bits. The gradient of a function of inner products (x | y)
// contains sums of w y, which are computed in the same way. For these sums, the vector of each column is divided by a
// power of two (`power`) that depends on the column, and the scalars are multiplied by this power.
#pragma once
#include <kernops/cuda/wide/vector_sum_totals.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The scalars of the pairs that combine a thread's rows with 32 columns. Each scalar is stored as two 16-bit numbers.
// The scalars of a row are multiplied by a power of 2, so that the largest scalar of the row is about 4.
template <class L> struct ScaledNumbers {
  using Own = OwnPairs<typename L::template With<4>>;
  static constexpr int columns = 32, groups = 2;  // number of groups of 16 columns that are summed at a time
  Halves::Part<4> part[groups][Own::rows];
  float back[Own::rows];  // the inverse of the power of 2 of each row

  // Scales and stores the scalars of 32 columns, from column `first` on. Returns whether all scalars are finite. All
  // threads of a warp must call this function.
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

// Adds w y to the totals, for 32 columns of a stage from column `first` on. The function updates the runs `from` ..
// `to` - 1 of the totals; a run has the entries of one chunk. The products are multiplied by `unit`, which reverses the
// scaling of the vectors.
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

// Adds w y to all runs of the totals by warp groups, two runs at a time. The large and small parts of the vectors form
// one matrix, so the products of two small parts are also computed. The products are added to the totals only if
// `finite` is true.
template <class Totals, class L>
__device__ __forceinline__ void add_products(Totals& totals, const ScaledNumbers<L>& w, const float* stage, float unit,
                                             bool finite) {
  using Numbers = ScaledNumbers<L>;
  using Own = typename Numbers::Own;
  constexpr int runs = Totals::Batch::runs, chunk = Numbers::columns * 4;  // chunk: size in units of 16 bytes
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

// Returns the factor that reverses the scaling of the vectors of columns.
template <class Formula> __device__ __forceinline__ float unit_of_columns(const float* once) {
  if constexpr (Formula::VectorSum::power >= 0) return 1 / halves_scale;
  const float c = once[Formula::VectorSum::factor];
  return c == 0 ? 0.0f : float(Formula::VectorSum::of_column) / (halves_scale * sqrt(abs(2 * c)));
}

// Multiplies the scalars of a tile by the powers of two by which the vectors of columns were divided.
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

template <class L, class Formula>
using ScaledContract = typename AllContractions<float, L, typename Formula::Near::Contractions>::Contract;
// A batch of all entries. If two warp groups have the same rows, each warp group holds half of the entries.
template <class L, class Formula>
using WholeBatch = EntryBatch<float, 1, (ScaledContract<L, Formula>::chunks + L::sharing - 1) / L::sharing>;

// Keeps the totals of all entries in registers; one stage of shared memory holds the vectors of a tile.
template <class Formula, class Row, class BlockPairs, class L>
struct SumWhole : SumOfBatch<Formula, Row, BlockPairs, L, WholeBatch<L, Formula>> {
  static_assert(ScaledContract<L, Formula>::whole && L::C == 4, "as the recipe says (cuda/pairs/choose.cpp)");
  using Base = SumOfBatch<Formula, Row, BlockPairs, L, WholeBatch<L, Formula>>;
  using Base::totals;
  using typename Base::Columns;
  static constexpr bool ahead = true;
  static constexpr int batches = 1, blocks = L::warpgroups && Formula::VectorSum::size > 64 ? 1
                                             : Formula::VectorSum::size <= 16               ? 4
                                                                                            : 2;
  const float unit;
  using Memory = Contracted<float, L>;
  Memory& exact;
  bool added = false;

  __device__ __forceinline__ SumWhole(const PairJob& job, int, Columns&, Memory& exact)
      : Base(job, L::sharing == 2 ? threadIdx.x / 128 * WholeBatch<L, Formula>::size : 0),
        unit(unit_of_columns<Formula>(this->begin.once)),
        exact(exact) {}

  template <class Pairs, class O, class Values, class Kept>
  __device__ __forceinline__ void take(const TilePlace<float>& at, const O& o, const Values& values, int,
                                       const Kept& kept, const float* stage, int) {
    const auto numbers = this->template numbers_of<Pairs>(at, o, values, kept, 0.0f);
    if constexpr (SameType<Pairs, Formula>::value) {
      added = false, exact = numbers;
    } else {
      ScaledNumbers<L> scaled;
      added = scaled.take(with_powers<Formula>(numbers, kept), 0);
      if (added)
        totals.add_numbers(numbers);
      else
        exact = numbers;
      if constexpr (L::warpgroups > 0)
        add_products(totals, scaled, stage, unit, added);
      else if (added)
        add_products<8 * L::C, 0, WholeBatch<L, Formula>::runs>(totals, scaled, stage, 0, unit);
    }
  }
  template <class O> __device__ __forceinline__ void add(const TilePlace<float>& at, const O& o, float*, bool last) {
    if (!added) this->add_exactly(totals, at, o, exact);
    this->end_tile(last, L::warpgroups == 0);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
