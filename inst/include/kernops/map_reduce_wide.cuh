// The tiled map-reduce for long vectors: first the contractions of a tile of pairs (contraction.cuh), with
// all threads sharing all of it; then each thread takes one row along the tile's lanes, as in map_reduce.cuh,
// with the contractions as given numbers. What only contractions read never enters a thread's registers as a
// whole.
//
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

template <class Pairs> struct Kind { using type = Pairs; };

// Whether the threads that have the pairs of a tile (OwnPairs) evaluate them: formulas of little work on a few values of
// rows and lanes. Others are evaluated one row a thread.
template <class Formula> KERNOPS_FN constexpr bool in_place() {
  return Formula::work <= 16 && Formula::kept_row <= 8 && Formula::kept_lane <= 16;
}
// Whether such a thread also reduces them: a state for each of its rows, joined with those of its neighbours at the end.
template <class Formula, class Row> KERNOPS_FN constexpr bool reduced_in_place() {
  return in_place<Formula>() && Row::any_order && sizeof(Row) <= 12 * sizeof(typename Formula::T);
}

// What pairs read of the lanes of a tile, in shared memory.
template <class T, int kept, int lanes> struct KeptLanes {
  static constexpr int stride = (kept * int(sizeof(T)) + 15) / 16 * 16 / int(sizeof(T));
  alignas(16) T v[lanes * stride];

  __device__ __forceinline__ void send_own(const TilePlace<T>& at) {
    const int lane = threadIdx.x;
    if (lane >= lanes) return;
    const T* from = at.lanes + (lane < at.lane_count ? lane : 0) * (long long)at.lane_stride;
    constexpr int unit = 16 / sizeof(T);
    KERNOPS_UNROLL
    for (int k = 0; k < stride; k += unit) {
      const int there = at.lane_stride - k;
      send(v + lane * stride + k, from + k, there >= unit ? 16 : there * int(sizeof(T)));
    }
  }
  __device__ __forceinline__ Vec<T, kept> of(int lane) const {
    Vec<T, kept> y;
    KERNOPS_UNROLL
    for (int k = 0; k < kept; ++k) y.v[k] = v[lane * stride + k];
    return y;
  }
};

// Takes the tiles of a block one after another: send_more(at) first, then visit(Kind<Pairs>, at, once, contracted values,
// first lane, kept lanes, shared memory), then done(at, once, shared memory, whether it is the last). `ahead`: the next
// tile is on its way meanwhile, into that shared memory; else threads are to wait for each other before they leave it.
template <class Formula, class Share, int C, int room, bool ahead, class Send, class Visit, class Done>
__device__ __forceinline__ void for_tiles(Block<Formula, Share, C>& block, bool rows_near, Send send_more, Visit visit,
                                          Done done) {
  using T = typename Formula::T;
  using Near = typename Formula::Near;
  using Tile = PairTile<T, C>;
  using ForNear = AllContractions<T, C, typename Near::Contractions>;
  using ForAll = AllContractions<T, C, typename Formula::Contractions>;
  constexpr int needed = ForNear::shared > ForAll::shared ? ForNear::shared : ForAll::shared;
  __shared__ alignas(16) T shared[needed > room ? needed : room];
  __shared__ KeptLanes<T, in_place<Formula>() ? Formula::kept_lane : 1, Tile::lanes> kept[2];

  const auto o = load<Formula::kept_once>(block.once());
  ForNear contract;
  contract.begin(block.place(block.begin));
  T *now = shared, *next = shared + ForNear::stage;
  int turn = 0;
  bool sent = false;
  do {
    for (long long lane = block.begin; lane < block.end; lane += Tile::lanes) {
      const TilePlace<T> at = block.place(lane);
      const auto send = [&](const TilePlace<T>& at, T* to, int turn) {
        contract.send_first(at, to);
        kept[turn].send_own(at);
        send_more(at);
      };
      if (!sent) send(at, now, turn);
      wait_for_sent();
      const bool own_lane = int(threadIdx.x) < at.lane_count;
      const bool near =
          !Formula::expands || (rows_near && (!own_lane || is_near(kept[turn].v[threadIdx.x * kept[0].stride])));
      const bool all_near = __syncthreads_and(near), more = lane + Tile::lanes < block.end;
      sent = ahead && more;
      const auto send_next = [&](T* to) {
        if (sent) send(block.place(lane + Tile::lanes), to, 1 - turn);
      };
      const auto take = [&](auto kind, const auto& values) {
        visit(kind, at, o, values, lane, kept[turn], shared);
      };
      if (all_near) {
        if constexpr (ahead && ForNear::by_parts) {
          send_next(next);
          take(Kind<Near>(), PartByPart<T, C, typename ForNear::Contract>{contract.first, now});
          swap(now, next);
        } else if constexpr (ForNear::in_shared) {
          ForNear::Contract::compute(at, o, shared);
          send_next(now);
          take(Kind<Near>(), InShared<T, C>{shared});
        } else {
          PairValues<T, C, ForNear::count> values;
          contract.run(values.sums, at, o, shared, now, next, send_next);
          if (!ahead) __syncthreads();
          take(Kind<Near>(), values);
        }
      } else if constexpr (Formula::expands) {
        sent = false;
        if constexpr (ForAll::in_shared) {
          ForAll::Contract::compute(at, o, shared);
          take(Kind<Formula>(), InShared<T, C>{shared});
        } else {
          ForAll contract_all;
          PairValues<T, C, ForAll::count> values;
          T *first = shared, *second = shared + ForAll::stage;
          contract_all.begin(at);
          contract_all.send_first(at, first);
          wait_for_sent();
          __syncthreads();
          contract_all.run(values.sums, at, o, shared, first, second, [](T*) {});
          __syncthreads();
          take(Kind<Formula>(), values);
        }
        __syncthreads();
      }
      turn = 1 - turn;
      done(at, o, shared, !more && block.last());
    }
  } while (block.next());
}

// The values of a thread's pairs, a few of its lanes at a time: take(r, n, f, w, how many) for groups of its lanes, n and
// those after it, with row r.
template <class Pairs, int C, int group, class T, class O, class X, class Values, class Kept, class Take>
__device__ __forceinline__ void own_pairs(const TilePlace<T>& at, const O& o, const X& x, const Values& values,
                                          const Kept& kept, Take take) {
  using Own = OwnPairs<C>;
  constexpr int groups = C < 2 ? C : 2, lanes = 2 * groups, some = group < lanes ? group : lanes;
  KERNOPS_UNROLL
  for (int first = 0; first < Own::lanes; first += lanes) {
    const auto part = values.template part<groups>(first / 2);
    KERNOPS_UNROLL
    for (int n = 0; n < lanes; n += some) {
      decltype(kept.of(0)) y[some];
      int count = 0;
      KERNOPS_UNROLL
      for (int u = 0; u < some; ++u) {
        y[u] = kept.of(Own::lane(first + n + u));
        count += Own::lane(first + n + u) < at.lane_count;
      }
      KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) {
        typename Pairs::F f[some];
        typename Pairs::W w[some];
        KERNOPS_UNROLL
        for (int u = 0; u < some; ++u) Pairs::pair(o, x[r], y[u], part.of(r, n + u), f[u], w[u]);
        take(r, first + n, f, w, count);
      }
    }
  }
}

// What pairs read of a thread's own rows.
template <class Formula, int C> struct OwnRows {
  using T = typename Formula::T;
  Vec<T, Formula::kept_row> x[OwnPairs<C>::rows];
  bool near = true;
  explicit __device__ __forceinline__ OwnRows(const TilePlace<T>& at) {
    KERNOPS_UNROLL
    for (int r = 0; r < OwnPairs<C>::rows; ++r) {
      const int row = OwnPairs<C>::row(r);
      x[r] = load<Formula::kept_row>(at.rows + (row < at.row_count ? row : 0) * (long long)at.row_stride);
      near = near && is_near(x[r].v[0]);
    }
  }
};

// The state that a thread has is joined with those of its neighbours, in an order that is always the same.
template <class Row> __device__ __forceinline__ void join_neighbours(Row& state, int neighbours) {
  for (int step = 1; step < neighbours; step *= 2) {
    union { Row row; int words[sizeof(Row) / 4]; } other;
    other.row = state;
    KERNOPS_UNROLL
    for (int n = 0; n < int(sizeof(Row) / 4); ++n) other.words[n] = __shfl_down_sync(~0u, other.words[n], step);
    state.merge(other.row);
  }
}

template <class Formula, class Row, class Share, int C> __device__ void reduce_in_place(const PairJob& job) {
  using Own = OwnPairs<C>;
  Block<Formula, Share, C> block(job);
  const OwnRows<Formula, C> rows(block.place(block.begin));
  Row state[Own::rows];
  KERNOPS_UNROLL
  for (int r = 0; r < Own::rows; ++r) state[r].start();
  for_tiles<Formula, Share, C, 0, true>(
      block, rows.near, [](const auto&) {},
      [&](auto kind, const auto& at, const auto& o, const auto& values, long long lane, const auto& kept, auto) {
        own_pairs<typename decltype(kind)::type, C, Row::group>(
            at, o, rows.x, values, kept,
            [&](int r, int n, const auto& f, const auto& w, int count) {
              state[r].add(f, w, int(lane) + Own::lane(n), count);
            });
      },
      [&](const auto&, const auto&, auto, bool) {
        KERNOPS_UNROLL
        for (int r = 0; r < Own::rows; ++r) state[r].settle();
      });
  KERNOPS_UNROLL
  for (int r = 0; r < Own::rows; ++r) {
    join_neighbours(state[r], Own::sharing);
    block.complete(state[r]);
    if (Own::j() == 0 && Own::row(r) < block.row_count)
      hand_over<Formula>(job, block.first + Own::row(r), state[r], block.any());
  }
  merge_if_last<Row>(job, block.first, block.first + block.row_count);
}

// Gives each group of the pairs of a thread's row with a tile to take(f, w, first lane, how many).
template <class Pairs, int C, int group, class T, class O, class X, class Values, class Take>
__device__ __forceinline__ void pass_row(const TilePlace<T>& at, const O& o, const X& x, const Values& values, T* shared,
                                         Take take) {
  values.put(shared);
  __syncthreads();
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
      Pairs::pair(o, x, y, Values::at(shared, lane, threadIdx.x), f[u], w[u]);
    }
    take(f, w, n, at.lane_count - n < group ? at.lane_count - n : group);
  }
}
template <class Formula, int C> KERNOPS_FN constexpr int room_for_values() {
  constexpr int count = Formula::Contractions::count;
  return (count > 0 ? count : 1) * PairTile<typename Formula::T, C>::lanes * PairTile<typename Formula::T, C>::stride;
}

template <class Formula, class Row, class Share, int C> __device__ void reduce_by_row(const PairJob& job) {
  Block<Formula, Share, C> block(job);
  const auto x = load<Formula::kept_row>(block.place(block.begin).rows + block.own_row() * block.row_stride);
  Row state;
  state.start();
  for_tiles<Formula, Share, C, room_for_values<Formula, C>(), false>(
      block, is_near(x.v[0]), [](const auto&) {},
      [&](auto kind, const auto& at, const auto& o, const auto& values, long long lane, const auto&, auto* shared) {
        pass_row<typename decltype(kind)::type, C, Row::group>(
            at, o, x, values, shared,
            [&](const auto& f, const auto& w, int n, int count) { state.add(f, w, int(lane) + n, count); });
      },
      [&](const auto&, const auto&, auto, bool) {
        state.settle();
        __syncthreads();
      });
  block.complete(state);
  if (int(threadIdx.x) < block.row_count)
    hand_over<Formula>(job, block.first + threadIdx.x, state, block.any());
  merge_if_last<Row>(job, block.first, block.first + block.row_count);
}

template <class Formula, class Row, class Share, int C> __device__ void map_reduce_wide(const PairJob& job) {
  if constexpr (reduced_in_place<Formula, Row>())
    reduce_in_place<Formula, Row, Share, C>(job);
  else
    reduce_by_row<Formula, Row, Share, C>(job);
}

#define KERNOPS_WIDE_KERNELS(Formula, Row, C, Share)                                                                  \
  KERNOPS_PLACES(Formula)                                                                                      \
  extern "C" __global__ void __launch_bounds__(128, 2)                                    \
      kernops_pairs(kernops::PairJob job) {                                                                    \
    kernops::map_reduce_wide<Formula, Row, Share, C>(job);                                                            \
  }                                                                                                            \
  extern "C" __global__ void kernops_merge(kernops::PairJob job) { kernops::merge_chunks<Row>(job); } \
  extern "C" __device__ const int kernops_partial_bytes = sizeof(Row);

}  // namespace KERNOPS_ISA
}  // namespace kernops
