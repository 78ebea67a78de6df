// Inner products of long vectors by tensor cores.
#pragma once
#include <kernops/tensor_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Inner products of the rows and lanes of a tile. The lanes come by way of shared memory, in stages of a few
// chunks, of which one is multiplied while the next one is on its way. The rows are a thread's own: they stay
// in its registers where one stage is all (`whole`).
template <class Numbers, int C, class Terms> struct ByTensorCores {
  using T = typename Numbers::T;
  using Tile = PairTile<T, C>;
  using Own = OwnPairs<C>;
  static constexpr int unit = 16 / sizeof(T);
  using Part = typename Numbers::template Part<unit>;
  static constexpr int chunk = 4 * unit, chunks = (Terms::size + chunk - 1) / chunk;
  static constexpr bool whole = chunks <= Numbers::most_resident, by_parts = whole, in_shared = false;
  static constexpr int at_once = whole ? chunks : Numbers::most_chunks, stages = chunks / at_once,
                       left = chunks % at_once, depth = at_once * chunk, stage = depth * Tile::lanes,
                       shared = 2 * stage;
  Part x[at_once][Own::rows];

  __device__ __forceinline__ void take_rows(const TilePlace<T>& at, int first) {
    KERNOPS_UNROLL
    for (int r = 0; r < Own::rows; ++r) {
      const int row = Own::row(r);
      const T* from =
          at.rows + Terms::Rows::nth(0) + (row < at.row_count ? row : 0) * (long long)at.row_stride;
      KERNOPS_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int start = first + k * chunk, entry = start + Own::j() * unit;
        Few<unit, T> some{};
        if ((Terms::scaled ? start : entry) < Terms::size) some = few<unit>(from + entry);
        if (!Terms::scaled && Terms::size % unit > 0) KERNOPS_UNROLL
        for (int e = 0; e < unit; ++e)
          if (entry + e >= Terms::size) some.v[e] = 0;
        x[k][r] = Numbers::part(some);
      }
    }
  }
  __device__ __forceinline__ void begin(const TilePlace<T>& at) {
    if (whole) take_rows(at, 0);
  }

  // The entries of the lanes from `first` on; unit u of chunk k of a lane comes to (k * lanes + lane) * 4 +
  // u. A thread sends the same unit of all chunks, of every 32nd lane.
  __device__ __forceinline__ void send_lanes(const TilePlace<T>& at, T* to, int first) const {
    const int u = threadIdx.x % 4;
    KERNOPS_UNROLL
    for (int lane = threadIdx.x / 4; lane < Tile::lanes; lane += Tile::threads / 4) {
      const T* from =
          at.lanes + Terms::Lanes::nth(0) + (lane < at.lane_count ? lane : 0) * (long long)at.lane_stride;
      KERNOPS_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int entry = first + k * chunk + u * unit, left = (Terms::size - entry) * int(sizeof(T));
        const bool all = Terms::scaled && (whole || first + k * chunk < Terms::size);
        send(to + ((k * Tile::lanes + lane) * 4 + u) * unit, from + entry,
             all || left > 16 ? 16
             : left < 0       ? 0
                              : left);
      }
    }
  }
  __device__ __forceinline__ void send_first(const TilePlace<T>& at, T* to) const { send_lanes(at, to, 0); }

  // Of a thread's lanes, `some` groups of 2 from group n on; their inner products, and as many sums of
  // chunks, go on side by side.
  template <int count, int some>
  __device__ __forceinline__ void multiply(const T* lanes, int n, T (&sum)[Own::rows][2 * some],
                                           bool fresh) const {
    constexpr int together = Numbers::together < count ? Numbers::together : count;
    KERNOPS_UNROLL
    for (int first = 0; first < count; first += together) {
      T c[some][Own::rows / 2][4] = {};
      Part y[some][together];
      KERNOPS_UNROLL
      for (int k = 0; k < together && first + k < count; ++k) KERNOPS_UNROLL
      for (int g = 0; g < some; ++g) {
        const int lane = 8 * (n + g) + Own::i();
        y[g][k] =
            Numbers::part(few<unit>(lanes + (((first + k) * Tile::lanes + lane) * 4 + Own::j()) * unit));
        KERNOPS_UNROLL
        for (int r = 0; r < Own::rows; r += 2)
          Numbers::add_rest(c[g][r / 2], x[first + k][r], x[first + k][r + 1], y[g][k]);
      }
      KERNOPS_UNROLL
      for (int k = 0; k < together && first + k < count; ++k) KERNOPS_UNROLL
      for (int g = 0; g < some; ++g) KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; r += 2)
        Numbers::add(c[g][r / 2], x[first + k][r], x[first + k][r + 1], y[g][k]);
      KERNOPS_UNROLL
      for (int g = 0; g < some; ++g) KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
      for (int e = 0; e < 2; ++e) {
        T& all = sum[r][2 * g + e];
        const T more = c[g][r / 2][r % 2 * 2 + e];
        all = fresh && first == 0 ? more : all + more;
      }
    }
  }
  // The same for all groups, a few at a time.
  template <int count>
  __device__ __forceinline__ void multiply_all(const T* lanes, Contracted<T, C>& sum, bool fresh) const {
    constexpr int some = C < 2 ? C : 2;
    KERNOPS_UNROLL
    for (int n = 0; n < C; n += some) {
      T part[Own::rows][2 * some];
      KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
      for (int e = 0; e < 2 * some; ++e) part[r][e] = sum.v[r][2 * n + e];
      multiply<count, some>(lanes, n, part, fresh);
      KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
      for (int e = 0; e < 2 * some; ++e) sum.v[r][2 * n + e] = part[r][e];
    }
  }

  // The first stage of the lanes is in `now`, seen by all threads; the same again is free at `next`. As soon
  // as there is room, send_next(to) may send what comes next to where `now` is then.
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, C>& sum, const TilePlace<T>& at, const O&, T*, T*& now,
                                      T*& next, Send send_next) {
    if constexpr (!whole) {
      KERNOPS_UNROLL
      for (int r = 0; r < Own::rows; ++r) KERNOPS_UNROLL
      for (int n = 0; n < Own::lanes; ++n) sum.v[r][n] = 0;
    }
    KERNOPS_UNROLL_BY(1)
    for (int s = 0; s + (left == 0) < stages; ++s) {
      const int first = s * depth;
      send_lanes(at, next, first + depth);
      take_rows(at, first);
      multiply_all<at_once>(now, sum, false);
      wait_for_sent();
      __syncthreads();
      swap(now, next);
    }
    send_next(next);
    if (!whole) take_rows(at, (left > 0 ? stages : stages - 1) * depth);
    multiply_all<(left > 0 ? left : at_once)>(now, sum, whole);
    swap(now, next);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
