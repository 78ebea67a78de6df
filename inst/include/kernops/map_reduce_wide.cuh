// The tiled map-reduce for long vectors: first the contractions of a tile of pairs (contraction.cuh), with
// all threads sharing all of it; then each thread takes one row along the tile's lanes, as in map_reduce.cuh,
// with the contractions as given numbers. What only contractions read never enters a thread's registers as a
// whole.
//
// A sum of long vectors, each a number per pair times a vector (a lane's, or such as x - y), is spread the
// same way: the numbers of a tile are left in shared memory, and each thread adds up 8 rows x E entries over
// its lanes.
#pragma once
#include <kernops/contraction.cuh>
#include <kernops/map_reduce.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The part of the pairs that a block reduces.
template <class Formula, class Share, int C> struct Block : Share {
  using T = typename Formula::T;
  using Tile = PairTile<T, C>;
  static constexpr int row_stride = padded<T>(Formula::row), lane_stride = padded<T>(Formula::lane);
  using Share::first, Share::begin, Share::end;
  const PairJob& job;
  int row_count;

  explicit __device__ Block(const PairJob& job) : Share(job, Tile::rows), job(job) {
    row_count = Share::row_end - first < Tile::rows ? int(Share::row_end - first) : Tile::rows;
  }
  __device__ const T* once() const { return static_cast<const T*>(job.once); }
  __device__ TilePlace<T> place(long long lane) const {
    const int lane_count = end - lane < Tile::lanes ? int(end - lane) : Tile::lanes;
    return {once(),
            static_cast<const T*>(job.rows) + first * row_stride,
            static_cast<const T*>(job.lanes) + lane * lane_stride,
            row_stride,
            lane_stride,
            row_count,
            lane_count};
  }
  __device__ int own_row() const { return int(threadIdx.x) < row_count ? int(threadIdx.x) : 0; }
};

// Gives each group of a row's pairs with a tile to take(f, w, first lane, how many).
template <class Pairs, int C, int group, class T, class O, class X, class Take>
__device__ __forceinline__ void pass(const TilePlace<T>& at, const O& o, const X& x, T* shared, Take take) {
  using Values = TileValues<T, C, typename Pairs::Contractions>;
  Values::compute(at, o, shared);
  constexpr bool much = Pairs::work > 64;
  constexpr int unrolled = group > 1 || much ? 1 : 4, copies = much ? 1 : group;
  KERNOPS_UNROLL_BY(unrolled)
  for (int n = 0; n < at.lane_count; n += group) {
    typename Pairs::F f[group];
    typename Pairs::W w[group];
    KERNOPS_UNROLL_BY(copies)
    for (int u = 0; u < group; ++u) {
      const int lane = n + u < at.lane_count ? n + u : n;
      const auto y = load<Pairs::kept_lane>(at.lanes + lane * (long long)at.lane_stride);
      Pairs::pair(o, x, y, Values::of(shared, lane, threadIdx.x), f[u], w[u]);
    }
    take(f, w, n, at.lane_count - n < group ? at.lane_count - n : group);
  }
}

// Takes the tiles of a block one after another: done(at, first, last) after each, and once where there are no lanes.
template <class Formula, class Share, int C, int group, class Take, class Done>
__device__ __forceinline__ Block<Formula, Share, C> for_tiles(const PairJob& job, Take take, Done done) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  using Tile = PairTile<T, C>;
  constexpr int of_pairs = TileValues<T, C, typename Formula::Contractions>::room(),
                of_near = TileValues<T, C, typename Near::Contractions>::room();
  __shared__ alignas(16) T shared[of_pairs > of_near ? of_pairs : of_near];

  Block<Formula, Share, C> block(job);
  const auto o = load<Formula::kept_once>(block.once());
  const auto x = load<Formula::kept_row>(block.place(block.begin).rows + block.own_row() * block.row_stride);
  bool first_tile = true;
  do {
    for (long long lane = block.begin; lane == block.begin || lane < block.end; lane += Tile::lanes) {
      const TilePlace<T> at = block.place(lane);
      const auto take_here = [&](const auto& f, const auto& w, int n, int count) { take(shared, lane, f, w, n, count); };
      const bool own_lane = int(threadIdx.x) < at.lane_count;
      const bool near = is_near(x.v[0]) && (!own_lane || is_near(at.lanes[threadIdx.x * (long long)at.lane_stride]));
      if (at.lane_count > 0) {
        if (Formula::expands && __syncthreads_and(near))
          pass<Near, C, group>(at, o, x, shared, take_here);
        else
          pass<Formula, C, group>(at, o, x, shared, take_here);
      }
      __syncthreads();
      done(block, at, o, shared, first_tile, lane + Tile::lanes >= block.end && block.last());
      first_tile = false;
    }
  } while (block.next());
  return block;
}

template <class Formula, class Row, class Share, int C> __device__ void map_reduce_wide(const PairJob& job) {
  Row state;
  state.start();
  const auto block = for_tiles<Formula, Share, C, Row::group>(
      job,
      [&](auto, long long lane, const auto& f, const auto& w, int n, int count) {
        state.add(f, w, int(lane) + n, count);
      },
      [&](const auto&, const auto&, const auto&, auto, bool, bool) { state.settle(); });
  block.complete(state);
  if (int(threadIdx.x) < block.row_count)
    hand_over<Formula>(job, block.first + threadIdx.x, state, block.any());
  merge_if_last<Row>(job, block.first, block.first + block.row_count);
}

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

// Adds number x vector for the pairs of a tile; numbers[lane * stride + row]. The totals stay in global memory,
// rows side by side, entry after entry.
template <class Formula, class Row, int C, class O>
__device__ void spread(const TilePlace<typename Formula::T>& at, const O& o,
                       const typename Formula::T* numbers, Row* totals, long long total_stride,
                       bool first_tile, bool last_tile) {
  using T = typename Formula::T;
  using Tile = PairTile<T, C>;
  using Terms = typename Formula::Spread;
  using Rows = typename Terms::Rows;
  using Lanes = typename Terms::Lanes;
  using Once = typename Terms::Once;
  constexpr int quad = Tile::quad, R = Tile::R, E = Rows::count > 0 ? quad : 2 * quad, slab = 8 * E;
  KERNOPS_UNROLL_BY(1)
  for (int base = 0; base < Terms::size; base += slab) {
    int entry[E / quad];  // the first of each 16 bytes; those beyond the end are made, but not kept
    Vec<T, Rows::room> x[R][E];
    Vec<T, Once::room> z[E];
    Row sum[R][E];
    KERNOPS_UNROLL
    for (int e = 0; e < E; e += quad) {
      const int here = base + (e / quad * 8 + Tile::lane_thread()) * quad;
      entry[e / quad] = here < Terms::size ? here : 0;
      load_quad<Once, quad>(at.once + entry[e / quad], z + e);
      KERNOPS_UNROLL
      for (int r = 0; r < R; ++r)
        load_quad<Rows, quad>(
            at.rows + (Tile::row(r) < at.row_count ? Tile::row(r) : 0) * (long long)at.row_stride +
                entry[e / quad],
            x[r] + e);
    }
    KERNOPS_UNROLL
    for (int e = 0; e < E; ++e) KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) sum[r][e].start();
    KERNOPS_UNROLL_BY(2)
    for (int lane = 0; lane < at.lane_count; ++lane) {
      Vec<T, 1> number[R][1];
      Vec<T, Lanes::room> y[E];
      KERNOPS_UNROLL
      for (int r = 0; r < R; r += quad) {
        const auto some = few<quad>(numbers + lane * Tile::stride + Tile::row(r));
        KERNOPS_UNROLL
        for (int e = 0; e < quad; ++e) number[r + e][0].v[0] = some.v[e];
      }
      KERNOPS_UNROLL
      for (int e = 0; e < E; e += quad)
        load_quad<Lanes, quad>(at.lanes + lane * (long long)at.lane_stride + entry[e / quad], y + e);
      KERNOPS_UNROLL
      for (int e = 0; e < E; ++e) KERNOPS_UNROLL
      for (int r = 0; r < R; ++r) {
        const Vec<T, 1> vector[1] = {Terms::entry(x[r][e], y[e], z[e], o)};
        sum[r][e].add(number[r], vector, 0, 1);
      }
    }
    KERNOPS_UNROLL
    for (int e = 0; e < E; ++e) KERNOPS_UNROLL
    for (int r = 0; r < R; ++r) {
      const int here = base + (e / quad * 8 + Tile::lane_thread()) * quad + e % quad;
      if (here >= Terms::size || Tile::row(r) >= at.row_count) continue;
      Row total, &kept = totals[here * total_stride + Tile::row(r)];
      if (first_tile)
        total.start();
      else
        total = kept;
      total.absorb(sum[r][e]);
      total.settle();
      if constexpr (Formula::factor >= 0)
        if (last_tile && at.lane_count > 0)
          total.scale(at.rows[Tile::row(r) * (long long)at.row_stride + Formula::factor]);
      kept = total;
    }
  }
}

template <class Formula, class Row, class Share, int C> __device__ void map_reduce_spread(const PairJob& job) {
  const long long rows = job.partial_rows;
  for_tiles<Formula, Share, C, 1>(
      job,
      [](auto* shared, long long, const auto& f, const auto&, int n, int) {
        shared[n * PairTile<typename Formula::T, C>::stride + threadIdx.x] = f[0][0];
      },
      [&](const auto& block, const auto& at, const auto& o, auto* shared, bool first_tile, bool last_tile) {
        Row* totals = static_cast<Row*>(job.partials) + blockIdx.y * Formula::Spread::size * rows + block.first;
        spread<Formula, Row, C>(at, o, shared, totals, rows, first_tile, last_tile);
        __syncthreads();
      });
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

#define KERNOPS_WIDE_KERNELS(Formula, Row, C, Share)                                                                  \
  KERNOPS_PLACES(Formula)                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, sizeof(T) == 8 ? 3 : 0)                                    \
      kernops_pairs(kernops::PairJob job) {                                                                    \
    kernops::map_reduce_wide<Formula, Row, Share, C>(job);                                                            \
  }                                                                                                            \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_chunks<Row>(job); } \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row);
#define KERNOPS_SPREAD_KERNELS(Formula, Row, C, Share)                                           \
  KERNOPS_PLACES(Formula)                                                                 \
  extern "C" __global__ void __launch_bounds__(128) kernops_pairs(kernops::PairJob job) { \
    kernops::map_reduce_spread<Formula, Row, Share, C>(job);                                     \
  }                                                                                       \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) {                        \
    kernops::merge_spread<Formula, Row>(job);                                             \
  }                                                                                       \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row) * Formula::Spread::size;

}  // namespace KERNOPS_ISA
}  // namespace kernops
