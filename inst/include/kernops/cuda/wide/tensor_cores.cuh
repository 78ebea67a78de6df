// Inner products of long vectors by tensor cores.
#pragma once
#include <kernops/cuda/wide/tensor_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Inner products of the rows and columns of a tile. The vectors of the columns are loaded into shared memory: all
// chunks at once (`whole`), or in stages of a few chunks. With stages, one stage is multiplied while the next stage is
// loaded. The vectors of a thread's rows stay in its registers (`resident`), or each chunk is loaded `ahead` chunks
// before its use. If a weighted sum reads the columns again (`summed`), `whole` and `resident` are true for longer
// vectors than in other contractions.
template <class Numbers, class L, class Terms> struct ByTensorCores {
  using T = typename Numbers::T;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  static constexpr int unit = 16 / sizeof(T);
  static_assert(Terms::size > 0 && (unit == 2 ? multiplies_doubles : multiplies_floats), "the text is for another GPU");
  using Part = typename Numbers::template Part<unit>;
  static constexpr int chunk = 4 * unit, chunks = (Terms::size + chunk - 1) / chunk;
  static constexpr bool whole = chunks * L::C <= (Terms::summed ? 4 : 1) * Numbers::template most_whole<L::rows>,
                        resident =
                            whole && chunks <= (Terms::summed ? 2 : 1) * Numbers::template most_resident<L::rows>,
                        by_parts = resident, in_shared = false;
  static constexpr int at_once = whole ? chunks : Numbers::most_chunks, stage = at_once * chunk * Tile::columns,
                       shared = 2 * stage, for_rows = 0, ahead = 2, held = resident ? chunks : ahead;
  Part x[held][Own::rows];

  // The units (16 bytes) of one chunk that a thread holds, one unit for each of its rows.
  struct Units {
    Few<unit, T> v[Own::rows];
  };
  __device__ __forceinline__ Units units(const TilePlace<T>& at, int of) const {
    const int start = of * chunk, entry = start + Own::j() * unit;
    Units some{};
    KERNOPS_EACH(r, Own::rows) {
      const int row = Own::row(r);
      const T* from = at.rows + Terms::Rows::nth(0) + (row < at.row_count ? row : 0) * (long long)at.row_stride;
      if ((Terms::scaled ? start : entry) < Terms::size) some.v[r] = few<unit>(from + entry);
    }
    return some;
  }
  __device__ __forceinline__ void take(const Units& some, int of, int to) {
    const int entry = of * chunk + Own::j() * unit;
    KERNOPS_EACH(r, Own::rows) {
      Few<unit, T> own = some.v[r];
      if (!Terms::scaled && Terms::size % unit > 0)
        KERNOPS_EACH(e, unit)
          if (entry + e >= Terms::size) own.v[e] = 0;
      x[to][r] = Numbers::part(own);
    }
  }
  __device__ __forceinline__ void begin(const TilePlace<T>& at, T*) {
    if (resident)
      KERNOPS_EACH(k, held) take(units(at, k), k, k);
  }

  // Loads chunks of the columns from chunk `first` on, in the layout of unit_of_column(). A thread loads the same unit
  // of every chunk, for every 32nd column.
  template <int count> static __device__ __forceinline__ void send(const TilePlace<T>& at, T* to, int first) {
    const int u = threadIdx.x % 4;
    KERNOPS_UNROLL
    for (int column = threadIdx.x / 4; column < Tile::columns; column += Tile::threads / 4) {
      const T* from =
          at.columns + Terms::Columns::nth(0) + (column < at.column_count ? column : 0) * (long long)at.column_stride;
      KERNOPS_EACH(k, count) {
        const int start = (first + k) * chunk, entry = start + u * unit, left = (Terms::size - entry) * int(sizeof(T));
        const bool all = Terms::scaled && (whole || start < Terms::size);
        kernops::send(to + unit_of_column<Tile::columns>(k, column, u) * unit, from + entry,
                      all || left > 16 ? 16
                      : left < 0       ? 0
                                       : left);
      }
    }
  }
  __device__ __forceinline__ void send_first(const TilePlace<T>& at, T* to) const { send<at_once>(at, to, 0); }

  // Multiplies the rows by `some` groups of 8 columns, from group n on. The sum is over `count` chunks of a stage, from
  // chunk `first` on. The sums of different groups are independent, so that their products overlap in time.
  template <int count, int some>
  __device__ __forceinline__ void multiply(const T* columns, int first, int n, T (&sum)[Own::rows][2 * some],
                                           bool fresh) const {
    constexpr int together = Numbers::together < count ? Numbers::together : count;
    T c[some][Own::rows / 2][4];
    const auto each = [&](auto with) {
      KERNOPS_EACH(g, some)
        KERNOPS_EACH(r, Own::rows)
          KERNOPS_EACH(e, 2) with(c[g][r / 2][r % 2 * 2 + e], sum[r][2 * g + e]);
    };
    KERNOPS_EVERY(begin, together, count) {
      const bool first_sum = fresh && begin == 0;
      each([&](T& part, const T& all) { part = Numbers::exact && !first_sum ? all : T(0); });
      Part y[some][together];
      KERNOPS_UNROLL
      for (int k = 0; k < together && begin + k < count; ++k)
        KERNOPS_EACH(g, some) {
          y[g][k] = Numbers::template of_columns<Tile::columns>(columns, first + begin + k, 8 * (n + g));
          KERNOPS_EVERY(r, 2, Own::rows) Numbers::add_rest(c[g][r / 2], x[begin + k][r], x[begin + k][r + 1], y[g][k]);
        }
      KERNOPS_UNROLL
      for (int k = 0; k < together && begin + k < count; ++k)
        KERNOPS_EACH(g, some)
          KERNOPS_EVERY(r, 2, Own::rows) Numbers::add(c[g][r / 2], x[begin + k][r], x[begin + k][r + 1], y[g][k]);
      each([&](const T& part, T& all) { all = Numbers::exact || first_sum ? part : all + part; });
    }
  }
  // Multiplies the rows by all groups of columns, a few groups at a time. The sum is over `count` chunks of a stage.
  template <int count>
  __device__ __forceinline__ void multiply_all(const T* columns, int first, Contracted<T, L>& sum, bool fresh) const {
    constexpr int most = Terms::summed ? 4 : 2, some = L::C < most ? L::C : most;
    KERNOPS_EVERY(n, some, L::C) {
      T part[Own::rows][2 * some];
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(e, 2 * some) part[r][e] = sum.v[r][2 * n + e];
      multiply<count, some>(columns, first, n, part, fresh);
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(e, 2 * some) sum.v[r][2 * n + e] = part[r][e];
    }
  }

  // Before the call, the first stage of the columns must be in `now`, and visible to all threads; `next` is free memory
  // of the same size. As soon as one of these two buffers is free, run() calls send_next(buffer), which may load the
  // next data into this buffer.
  // long: one pipeline of loads and products
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, L>& sum, const TilePlace<T>& at, const O&, T*, T*& now, T*& next,
                                      Send send_next) {
    if constexpr (resident) {
      send_next(next);
      multiply_all<chunks>(now, 0, sum, true);
    } else {
      KERNOPS_EACH(r, Own::rows)
        KERNOPS_EACH(n, Own::columns) sum.v[r][n] = 0;
      Units coming[ahead];
      KERNOPS_EACH(k, ahead) coming[k] = units(at, k);
      const auto by_chunks = [&](auto count, int first) {
        KERNOPS_UNROLL_BY(Terms::summed ? 1 : count.value)
        for (int begin = 0; begin < count.value; begin += ahead) {
          KERNOPS_EACH(k, ahead) {
            take(coming[k], first + begin + k, k);
            coming[k] = units(at, first + begin + ahead + k);
          }
          if (begin + ahead <= count.value)
            multiply_all<ahead>(now, begin, sum, false);
          else
            multiply_all<count.value % ahead + (count.value % ahead == 0)>(now, begin, sum, false);
        }
      };
      constexpr int stages = (chunks - 1) / at_once;  // number of stages before the last stage
      KERNOPS_UNROLL_BY(1)
      for (int s = 0; s < stages; ++s) {
        send<at_once>(at, next, (s + 1) * at_once);
        by_chunks(Number<at_once>(), s * at_once);
        wait_for_sent<L::warpgroups != 0>();
        __syncthreads();
        swap(now, next);
      }
      send_next(next);
      by_chunks(Number<chunks - stages * at_once>(), stages * at_once);
    }
    swap(now, next);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
