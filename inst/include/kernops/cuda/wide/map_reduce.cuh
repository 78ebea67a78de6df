// The tiled map-reduce for long vectors. First, all threads compute the contractions of a tile of pairs together
// (cuda/wide/contraction.cuh). Then each thread evaluates and reduces the pairs whose contractions are in its
// registers: 4 rows x 2 C columns of a tile with 8 C columns. If this evaluation requires too many registers, a thread
// instead processes one row and all columns of the tile, as in cuda/map_reduce.cuh, and reads the contractions from
// shared memory. If only contractions read a vector, a thread never holds the whole vector in registers.
#pragma once
#include <kernops/cuda/wide/tiles.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Evaluates some pairs of a thread together. If a sine or cosine of these pairs has a large argument, all of these
// pairs are evaluated again in a separate branch.
template <class Pairs, int rows, int columns> struct TurningPairs {
  typename Pairs::F f[rows][columns][1];
  typename Pairs::W w[rows][columns][1];

  template <class With> static __device__ __forceinline__ void each(With with) {
    KERNOPS_EACH(n, columns)
      KERNOPS_EACH(r, rows) with(r, n);
  }
  template <class O, class X, class Y, class Part>
  __device__ __forceinline__ void make(const O& o, const X (&x)[rows], const Y (&y)[columns], const Part& part) {
    FewTurns few;
    each([&](int r, int n) { Pairs::pair(o, x[r], y[n], part.of(r, n), f[r][n][0], w[r][n][0], few); });
    if (few.enough()) return;
    struct {
      O o;
      X x[rows];
      Y y[columns];
      Part part;
    } given{o, {}, {}, part};  // copies in memory, because a function that is not inlined requires addresses
    KERNOPS_EACH(r, rows) given.x[r] = x[r];
    KERNOPS_EACH(n, columns) given.y[n] = y[n];
    TurningPairs again;
    again.make_any(given.o, given.x, given.y, given.part);
    *this = again;
  }
  template <class O, class X, class Y, class Part>
  KERNOPS_CALL void make_any(const O& o, const X (&x)[rows], const Y (&y)[columns], const Part& part) {
    AnyTurns any;
    KERNOPS_UNROLL_BY(1)
    for (int n = 0; n < columns; ++n) KERNOPS_UNROLL_BY(1)
    for (int r = 0; r < rows; ++r) Pairs::pair(o, x[r], y[n], part.of(r, n), f[r][n][0], w[r][n][0], any);
  }
};

// Evaluates the pairs of a thread, a few columns at a time, and calls take(r, n, f, w, count) for each group of pairs.
// A group combines row r of the thread with consecutive columns of the thread, from column n on. Only the first `count`
// of these columns exist.
template <class Pairs, class L, int group, class T, class O, class X, class Values, class Kept, class Take>
__device__ __forceinline__ void own_pairs(const TilePlace<T>& at, const O& o, const X& x, const Values& values,
                                          const Kept& kept, Take take) {
  using Own = OwnPairs<L>;
  constexpr int groups = L::C < 2 ? L::C : 2, columns = 2 * groups, some = group < columns ? group : columns;
  KERNOPS_EVERY(first, columns, Own::columns) {
    const auto part = values.template part<groups>(first / 2);
    if constexpr (Pairs::turns) {
      decltype(kept.of(0)) y[columns];
      KERNOPS_EACH(n, columns) y[n] = kept.of(Own::column(first + n));
      TurningPairs<Pairs, Own::rows, columns> pairs;
      pairs.make(o, x, y, part);
      pairs.each([&](int r, int n) {
        take(r, first + n, pairs.f[r][n], pairs.w[r][n], Own::column(first + n) < at.column_count);
      });
    } else {
      KERNOPS_EVERY(n, some, columns) {
        decltype(kept.of(0)) y[some];
        int count = 0;
        KERNOPS_EACH(u, some) {
          y[u] = kept.of(Own::column(first + n + u));
          count += Own::column(first + n + u) < at.column_count;
        }
        KERNOPS_EACH(r, Own::rows) {
          typename Pairs::F f[some];
          typename Pairs::W w[some];
          AnyTurns turns;
          KERNOPS_EACH(u, some) Pairs::pair(o, x[r], y[u], part.of(r, n + u), f[u], w[u], turns);
          take(r, first + n, f, w, count);
        }
      }
    }
  }
}

// The values of the rows for which a thread evaluates pairs: several rows if `in_place` is true, and otherwise one row.
template <class Formula, class L, bool in_place = Formula::in_place> struct OwnRows {
  using T = typename Formula::T;
  static constexpr int count = in_place ? OwnPairs<L>::rows : 1;
  Vec<T, Formula::kept_row> x[count];
  OwnNorms<T> norms;

  static __device__ __forceinline__ int row(int r) { return in_place ? OwnPairs<L>::row(r) : int(threadIdx.x); }
  explicit __device__ __forceinline__ OwnRows(const TilePlace<T>& at) {
    KERNOPS_EACH(r, count) {
      load_to(x[r], at.rows + (row(r) < at.row_count ? row(r) : 0) * (long long)at.row_stride);
      norms.take(x[r].v[0]);
    }
  }
};

// Evaluates the pairs of a thread's row and the columns of a tile. Calls take(f, w, first column, count) for each group
// of pairs.
template <class Pairs, class L, int group, class T, class O, class X, class Values, class Take>
__device__ __forceinline__ void pass_row(const TilePlace<T>& at, const O& o, const X& x, const Values& values,
                                         T* shared, Take take) {
  values.put(shared);
  __syncthreads();
  constexpr bool much = Pairs::much_work;
  constexpr int unrolled = group > 1 || much ? 1 : 4, copies = much ? 1 : group;
  KERNOPS_UNROLL_BY(unrolled)
  for (int n = 0; n < at.column_count; n += group) {
    typename Pairs::F f[group];
    typename Pairs::W w[group];
    KERNOPS_UNROLL_BY(copies)
    for (int u = 0; u < group; ++u) {
      const int column = n + u < at.column_count ? n + u : n;
      Vec<T, Pairs::kept_column> y;
      load_to(y, at.columns + column * (long long)at.column_stride);
      AnyTurns turns;
      Pairs::pair(o, x, y, Values::at(shared, column, threadIdx.x), f[u], w[u], turns);
    }
    take(f, w, n, at.column_count - n < group ? at.column_count - n : group);
  }
}
template <class Formula, class L> KERNOPS_FN constexpr int room_for_values() {
  constexpr int count = Formula::Contractions::count;
  return (count > 0 ? count : 1) * PairTile<typename Formula::T, L>::columns * PairTile<typename Formula::T, L>::stride;
}

// Joins the state of a thread with the states of its neighbours, in a fixed order.
template <class Row> __device__ __forceinline__ void join_neighbours(Row& state, int neighbours) {
  for (int step = 1; step < neighbours; step *= 2) {
    union {
      Row row;
      int words[sizeof(Row) / 4];
    } other;
    other.row = state;
    KERNOPS_EACH(n, int(sizeof(Row) / 4)) other.words[n] = __shfl_down_sync(~0u, other.words[n], step);
    state.merge(other.row);
  }
}

// Evaluates the pairs of a thread in a tile by own_pairs() or pass_row(). Calls take(r, first column within the tile,
// f, w, count) for each group of pairs.
template <bool in_place, class Pairs, class L, int group, class T, class O, class X, class Values, class Kept,
          class Take>
__device__ __forceinline__ void each_pair(const TilePlace<T>& at, const O& o, const X& x, const Values& values,
                                          const Kept& kept, T* shared, Take take) {
  if constexpr (in_place)
    own_pairs<Pairs, L, group>(at, o, x, values, kept, [&](int r, int n, const auto& f, const auto& w, int count) {
      take(r, OwnPairs<L>::column(n), f, w, count);
    });
  else
    pass_row<Pairs, L, group>(at, o, x[0], values, shared,
                              [&](const auto& f, const auto& w, int n, int count) { take(0, n, f, w, count); });
}

template <class Formula, class Row, class BlockPairs, class L, bool in_place>
__device__ void reduce_tiles(const PairJob& job) {
  static_assert(in_place || L::warpgroups == 0, "a thread has a row, of which there would be half as many");
  using Own = OwnPairs<L>;
  Block<Formula, BlockPairs, L> block(job);
  const OwnRows<Formula, L, in_place> rows(block.place(block.begin));
  Row state[rows.count];
  KERNOPS_EACH(r, rows.count) start_row(state[r], job, block.first + rows.row(r), rows.row(r) < block.row_count);
  for_tiles<Formula, BlockPairs, L, in_place ? 0 : room_for_values<Formula, L>(), in_place>(
      block, rows.norms, [](const auto&, int) {},
      [&](auto kind, const auto& at, const auto& o, const auto& values, long long column, const auto& kept,
          auto* shared, int) {
        each_pair<in_place, typename decltype(kind)::type, L, Row::group>(
            at, o, rows.x, values, kept, shared,
            [&](int r, int n, const auto& f, const auto& w, int count) { state[r].add(f, w, int(column) + n, count); });
      },
      [&](const auto&, const auto&, auto, bool) {
        KERNOPS_EACH(r, rows.count) state[r].settle();
        if (!in_place) __syncthreads();
      });
  KERNOPS_EACH(r, rows.count) {
    if (in_place) join_neighbours(state[r], Own::sharing);
    block.complete(state[r]);
    if ((!in_place || Own::j() == 0) && rows.row(r) < block.row_count)
      hand_over<Formula>(job, block.first + rows.row(r), state[r], block.any());
  }
  merge_if_last<Row>(job, block.first, block.first + block.row_count);
}

template <class Formula, class L, class Row, class BlockPairs> struct PairKernel<Formula, L, States<Row>, BlockPairs> {
  static constexpr int threads = L::threads, partial_bytes = sizeof(Row),
                       shared_bytes = TileMemory<Formula, L, 0>::asked_for,
                       blocks = TileMemory<Formula, L, 0>::bytes > 112 * 1024 ? 1 : 2;  // per multiprocessor
  static __device__ __forceinline__ void run(const PairJob& job) {
    reduce_tiles<Formula, Row, BlockPairs, L, reduced_in_place<Formula, Row>()>(job);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
