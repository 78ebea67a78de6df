// Sums of long vectors, each a number per pair times a vector (a lane's, or such as x - y), which gradients are. Their
// entries are taken in slabs, one after another, and the numbers of the pairs are made anew for each, so that the totals
// stay in registers: a thread has those of its own rows (OwnPairs), for two runs of entries.
//
// Where the vector is that of the lane, or the difference of two, the sum over a tile is the product of two matrices, the
// numbers and the vectors of the lanes, and goes to the tensor cores; sum w (x - y) is x sum w - sum w y then, as exact as
// the expansion of an exponent, and taken only where that is. Else it is added up term by term.
#pragma once
#include <kernops/map_reduce_wide.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// 16 bytes of each of some vectors, which start at their offsets from here.
template <class Offsets, int quad, class T, int N>
__device__ __forceinline__ void load_quad(const T* from, Vec<T, N>* to) {
  KERNOPS_UNROLL
  for (int n = 0; n < Offsets::count; ++n) {
    const auto some = few<quad>(from + Offsets::nth(n));
    KERNOPS_UNROLL
    for (int e = 0; e < quad; ++e) to[e].v[n] = some.v[e];
  }
}

// Which numbers multiply matrices here; void where tensor cores do not.
template <class T, bool> struct NumbersFor { using type = void; };
template <> struct NumbersFor<float, true> { using type = Floats; };
template <> struct NumbersFor<double, true> { using type = Doubles; };
template <class T>
using MatrixNumbers = typename NumbersFor<T, sizeof(T) == 4 ? multiplies_floats : multiplies_doubles>::type;

// A slab of entries: `runs` runs of 128 bytes, of which thread 4 i + j of a warp has the totals of 32 bytes, from j on.
template <class T> struct Slab {
  static constexpr int unit = 16 / sizeof(T), own = 2 * unit, run = 8 * unit, runs = 2, size = runs * run;
  static __device__ __forceinline__ int first(int q) { return q * run + OwnPairs<1>::j() * own; }
};

// The slab of the vectors of a tile's lanes in shared memory. Of a run, unit u of a lane stands at slot(lane, u): a warp
// reads one unit of 8 from 4 lanes, every second one, without bank conflicts.
template <class T, int lanes> struct LaneSlab {
  using S = Slab<T>;
  static constexpr int units = S::runs * lanes * 8, loads = (units + 127) / 128;
  alignas(16) T v[units * S::unit];

  static __device__ __forceinline__ int slot(int lane, int u) {
    return (u / 4 * lanes / 2 + lane / 2) * 8 + ((lane % 2 * 4 + u % 4) ^ lane / 2 % 4 * 2);
  }
  __device__ __forceinline__ Few<S::unit, T> unit(int run, int lane, int u) const {
    return few<S::unit>(v + (run * lanes * 8 + slot(lane, u)) * S::unit);
  }
  // Those from `base` on, of vectors that end at `end`.
  __device__ __forceinline__ void send(const TilePlace<T>& at, int offset, int base, int end) {
    for (int n = threadIdx.x; n < units; n += 128) {
      const int u = n % 8, lane = n / 8 % lanes, run = n / (8 * lanes), entry = base + run * S::run + u * S::unit,
                bytes = (end - entry) * int(sizeof(T));
      const T* from = at.lanes + offset + (lane < at.lane_count ? lane : 0) * (long long)at.lane_stride;
      kernops::send(v + (run * lanes * 8 + slot(lane, u)) * S::unit, bytes > 0 ? from + entry : from,
                    bytes < 0 ? 0 : bytes < 16 ? bytes : 16);
    }
  }
  // Takes the centre from what this thread has sent, unless its offset is -1. The result is 0 where all is finite.
  __device__ __forceinline__ T take_centre(const T* once, int base, int end, int centre) {
    T check = 0;
    for (int n = threadIdx.x; n < units; n += 128) {
      const int u = n % 8, lane = n / 8 % lanes, run = n / (8 * lanes), entry = base + run * S::run + u * S::unit;
      T* there = v + (run * lanes * 8 + slot(lane, u)) * S::unit;
      KERNOPS_UNROLL
      for (int e = 0; e < S::unit; ++e) {
        if (centre >= 0 && entry + e < end) there[e] -= once[centre + entry + e];
        check += there[e] * T(0);
      }
    }
    return check;
  }
};

// The totals of a thread, for a slab that begins at `base`.
template <class Formula, class Row, int C> struct Totals {
  using T = typename Formula::T;
  using Tile = PairTile<T, C>;
  using Own = OwnPairs<C>;
  using S = Slab<T>;
  using Terms = typename Formula::Spread;
  static constexpr int most_tiles = 4096 / Tile::lanes;  // that are added up before the totals are
  const int base;
  Row sum[Own::rows][S::runs][S::own];
  T numbers[Own::rows];  // their sums, of what sum w x takes
  int tiles = 0;
  bool begun = false;

  explicit __device__ __forceinline__ Totals(int base) : base(base) { start(); }
  __device__ __forceinline__ void start() {
    KERNOPS_UNROLL
    for (int r = 0; r < Own::rows; ++r) {
      numbers[r] = 0;
      KERNOPS_UNROLL
      for (int q = 0; q < S::runs; ++q) KERNOPS_UNROLL
        for (int e = 0; e < S::own; ++e) sum[r][q][e].start();
    }
  }

  __device__ __forceinline__ int entry(int q, int e) const { return base + S::first(q) + e; }
  __device__ __forceinline__ const T* row_item(const TilePlace<T>& at, int r) const {
    return at.rows + (Own::row(r) < at.row_count ? Own::row(r) : 0) * (long long)at.row_stride;
  }

  // Numbers times vectors, as matrices: whether that was done, for which all must be finite. To be called by all threads.
  template <bool able, class Lanes>
  __device__ __forceinline__ bool multiplied(const TilePlace<T>& at, const Contracted<T, C>& w, Lanes& lanes) {
    if constexpr (!able) {
      __syncthreads();
      return false;
    } else {
      T check = lanes.take_centre(at.once, base, Terms::size, Terms::centre);
      KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
        for (int n = 0; n < Own::lanes; ++n) check += w.v[r][n] * T(0);
      const bool finite = __syncthreads_and(check == 0);
      if (finite) multiply(w, lanes);
      return finite;
    }
  }
  template <class Lanes> __device__ __forceinline__ void multiply(const Contracted<T, C>& w, const Lanes& lanes) {
    using Numbers = MatrixNumbers<T>;
    using Part = typename Numbers::template Part<2>;
    Part split[Own::rows][C];
    KERNOPS_UNROLL
    for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
      for (int k = 0; k < C; ++k) {
        split[r][k] = Numbers::part(Few<2, T>{{w.v[r][2 * k], w.v[r][2 * k + 1]}});
        if (Terms::of_row != 0) numbers[r] += w.v[r][2 * k] + w.v[r][2 * k + 1];
      }
    KERNOPS_UNROLL
    for (int q = 0; q < S::runs; ++q) {
      if (base + q * S::run >= Terms::size) break;
      T c[S::unit][Own::rows / 2][4] = {};
      KERNOPS_UNROLL
      for (int k = 0; k < C; ++k) {
        const auto even = lanes.unit(q, Own::lane(2 * k), Own::i()), odd = lanes.unit(q, Own::lane(2 * k + 1), Own::i());
        KERNOPS_UNROLL
        for (int n = 0; n < S::unit; ++n) {
          const Part y = Numbers::part(Few<2, T>{{even.v[n], odd.v[n]}});
          KERNOPS_UNROLL
          for (int r = 0; r < Own::rows; r += 2) {
            Numbers::add_rest(c[n][r / 2], split[r][k], split[r + 1][k], y);
            Numbers::add(c[n][r / 2], split[r][k], split[r + 1][k], y);
          }
        }
      }
      KERNOPS_UNROLL
      for (int n = 0; n < S::unit; ++n) KERNOPS_UNROLL
        for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
          for (int odd = 0; odd < 2; ++odd)
            add(sum[r][q][S::unit * odd + n], T(Terms::of_lane), c[n][r / 2][r % 2 * 2 + odd]);
    }
  }

  // Numbers times vectors, term by term; numbers[lane * stride + row] in shared memory.
  template <class O>
  __device__ __forceinline__ void add_terms(const TilePlace<T>& at, const O& o, const T* numbers) {
    KERNOPS_UNROLL
    for (int q = 0; q < S::runs; ++q) {
      if (base + q * S::run >= Terms::size) break;
      Vec<T, Terms::Rows::room> x[Own::rows][S::own];
      Vec<T, Terms::Once::room> z[S::own];
      int from[2];  // the first of each 16 bytes; those beyond the end are made, but not kept
      KERNOPS_UNROLL
      for (int u = 0; u < 2; ++u) {
        from[u] = entry(q, u * S::unit) < Terms::size ? entry(q, u * S::unit) : 0;
        load_quad<typename Terms::Once, S::unit>(at.once + from[u], z + u * S::unit);
        KERNOPS_UNROLL
        for (int r = 0; r < Own::rows; ++r)
          load_quad<typename Terms::Rows, S::unit>(row_item(at, r) + from[u], x[r] + u * S::unit);
      }
      KERNOPS_UNROLL_BY(2)
      for (int lane = 0; lane < at.lane_count; ++lane) {
        Vec<T, Terms::Lanes::room> y[S::own];
        KERNOPS_UNROLL
        for (int u = 0; u < 2; ++u)
          load_quad<typename Terms::Lanes, S::unit>(at.lanes + lane * (long long)at.lane_stride + from[u],
                                                    y + u * S::unit);
        KERNOPS_UNROLL
        for (int r = 0; r < Own::rows; ++r) {
          const T number = numbers[lane * Tile::stride + Own::row(r)];
          KERNOPS_UNROLL
          for (int e = 0; e < S::own; ++e) add(sum[r][q][e], number, Terms::entry(x[r][e], y[e], z[e], o).v[0]);
        }
      }
    }
  }

  static __device__ __forceinline__ void add(Row& to, T number, T entry) {
    const Vec<T, 1> numbers[] = {{number}}, entries[] = {{entry}};
    to.add(numbers, entries, 0, 1);
  }

  // Into the totals of the block, which stand rows side by side, entry after entry.
  __device__ __forceinline__ void hand_over(const TilePlace<T>& at, Row* totals, long long stride, bool last) {
    KERNOPS_UNROLL
    for (int r = 0; r < Own::rows; ++r) {
      if (Terms::of_row != 0)
        for (int step = 1; step < Own::sharing; step *= 2) numbers[r] += __shfl_xor_sync(~0u, numbers[r], step);
      const bool exists = Own::row(r) < at.row_count;
      KERNOPS_UNROLL
      for (int q = 0; q < S::runs; ++q) KERNOPS_UNROLL
        for (int e = 0; e < S::own; ++e) {
          if (!exists || entry(q, e) >= Terms::size) continue;
          if (Terms::of_row != 0) {
            T x = row_item(at, r)[Terms::Rows::nth(0) + entry(q, e)];
            if (Terms::centre >= 0) x -= at.once[Terms::centre + entry(q, e)];
            add(sum[r][q][e], numbers[r], T(Terms::of_row) * x);
          }
          Row total, &kept = totals[entry(q, e) * stride + Own::row(r)];
          if (begun)
            total = kept;
          else
            total.start();
          total.absorb(sum[r][q][e]);
          total.settle();
          if constexpr (Formula::factor >= 0)
            if (last) total.scale(row_item(at, r)[Formula::factor]);
          kept = total;
        }
    }
    begun = true, tiles = 0;
    start();
  }
};

// Whether a sum may be a product of matrices, for these pairs.
template <class Formula, class Pairs, class Row> KERNOPS_FN constexpr bool multiplies() {
  using T = typename Formula::T;
  using Terms = typename Formula::Spread;
  constexpr bool able = sizeof(T) == 4 ? multiplies_floats : multiplies_doubles;
  constexpr bool near = Formula::expands && !SameType<Pairs, Formula>::value;
  return able && in_place<Formula>() && Row::adds_tiles && Terms::of_lane != 0 && (Terms::of_row == 0 || near);
}

template <class Formula, class Row, class Share, int C> __device__ void map_reduce_spread(const PairJob& job) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  using Tile = PairTile<T, C>;
  using Own = OwnPairs<C>;
  using Terms = typename Formula::Spread;
  constexpr bool ever = multiplies<Formula, Near, Row>() || multiplies<Formula, Formula, Row>();
  __shared__ LaneSlab<T, ever ? Tile::lanes : 1> lanes;

  KERNOPS_UNROLL_BY(1)
  for (int base = 0; base < Terms::size; base += Slab<T>::size) {
    Block<Formula, Share, C> block(job);
    const TilePlace<T> begin = block.place(block.begin);
    Row* kept = static_cast<Row*>(job.partials) + blockIdx.y * Terms::size * job.partial_rows + block.first;
    Totals<Formula, Row, C> totals(base);
    bool product = false;
    const auto by_tiles = [&](bool rows_near, auto visit) {
      for_tiles<Formula, Share, C, room_for_values<Formula, C>(), false>(
          block, rows_near,
          [&](const auto& at) {
            if constexpr (ever) lanes.send(at, Terms::Lanes::nth(0), base, Terms::size);
          },
          visit,
          [&](const auto& at, const auto& o, auto* shared, bool last) {
            if (!product) {
              __syncthreads();
              totals.add_terms(at, o, shared);
            }
            __syncthreads();
            if (++totals.tiles == totals.most_tiles || last) totals.hand_over(begin, kept, job.partial_rows, last);
          });
    };
    if constexpr (in_place<Formula>()) {
      const OwnRows<Formula, C> rows(begin);
      by_tiles(rows.near, [&](auto kind, const auto& at, const auto& o, const auto& values, long long,
                              const auto& kept_lanes, auto* shared) {
        using Pairs = typename decltype(kind)::type;
        Contracted<T, C> numbers;
        own_pairs<Pairs, C, 1>(at, o, rows.x, values, kept_lanes, [&](int r, int n, const auto& f, const auto&, int count) {
          numbers.v[r][n] = count ? f[0][0] : T(0);
        });
        product = totals.template multiplied<multiplies<Formula, Pairs, Row>()>(at, numbers, lanes);
        if (!product) PairValues<T, C, 1>{{numbers}}.put(shared);
      });
    } else {
      const auto x = load<Formula::kept_row>(begin.rows + block.own_row() * block.row_stride);
      by_tiles(is_near(x.v[0]), [&](auto kind, const auto& at, const auto& o, const auto& values, long long, const auto&,
                                    auto* shared) {
        pass_row<typename decltype(kind)::type, C, 1>(
            at, o, x, values, shared,
            [&](const auto& f, const auto&, int n, int) { shared[n * Tile::stride + threadIdx.x] = f[0][0]; });
      });
    }
    if (!block.any())
      for (int n = threadIdx.x; n < block.row_count * Slab<T>::size; n += Tile::threads) {
        const int entry = base + n / block.row_count;
        if (entry < Terms::size) kept[entry * job.partial_rows + n % block.row_count].start();
      }
  }
}

// One thread a row: joins the chunks of each entry.
template <class Formula, class Row> __device__ void merge_spread(const PairJob& job) {
  constexpr int size = Formula::Spread::size;
  const long long row = job.row_begin + blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= job.row_end) return;
  for (int k = 0; k < size; ++k) {
    Row* states = static_cast<Row*>(job.partials) + k * job.partial_rows + row;
    Row state = merged(states, size * job.partial_rows, 0, job.chunks, 1);
    if (job.out)
      state.finish(job.out + row * job.out_row + k * job.out_entry, 0, job.any_lanes);
    else
      *states = state;
  }
}

#define KERNOPS_SPREAD_KERNELS(Formula, Row, C, Share)                                       \
  KERNOPS_PLACES(Formula)                                                                    \
  extern "C" __global__ void __launch_bounds__(128, 2) kernops_pairs(kernops::PairJob job) { \
    kernops::map_reduce_spread<Formula, Row, Share, C>(job);                                 \
  }                                                                                          \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) {                           \
    kernops::merge_spread<Formula, Row>(job);                                                \
  }                                                                                          \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row) * Formula::Spread::size;

}  // namespace KERNOPS_ISA
}  // namespace kernops
