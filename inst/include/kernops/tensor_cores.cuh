// Inner products of long vectors by tensor cores: in which kinds of numbers these multiply, and how accurately.
//
// A chunk of a vector is 64 bytes, of which thread 4 i + j of a warp has unit j, 16 bytes of the vectors of some rows and
// lanes i. A kind says what a thread makes of a unit (Part), and multiplies those of 16 rows x 8 lanes:
//   add(c, x, x8, y)       c += the inner products: of rows i (x) and i + 8 (x8) with lanes 2 j and 2 j + 1
//   add_rest(c, x, x8, y)  the same for the small parts that rounding took from them; comes first
// most_chunks are multiplied before their sums are added to others, which rounds better; most_resident are kept of a row.
#pragma once
#include <kernops/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// GPUs other than those of data centres have few units for doubles, if any.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr bool multiplies_doubles = true;
#else
constexpr bool multiplies_doubles = false;
#endif
#if __CUDA_ARCH__ >= 800
constexpr bool multiplies_floats = true;
#else
constexpr bool multiplies_floats = false;
#endif

// Exact fused multiplications and additions.
struct Doubles {
  using T = double;
  template <int N> using Part = Few<N, double>;
  static constexpr int most_chunks = 4, most_resident = 4;
  static constexpr bool finite = false;

  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, double>& some) { return some; }
  template <class P> static __device__ __forceinline__ void add_rest(double (&)[4], const P&, const P&, const P&) {}
  template <int N>
  static __device__ __forceinline__ void add(double (&c)[4], const Few<N, double>& x, const Few<N, double>& x8,
                                             const Few<N, double>& y) {
    KERNOPS_UNROLL
    for (int e = 0; e < N; ++e) {
#if __CUDA_ARCH__ >= 900
      asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
          : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
          : "d"(x.v[e]), "d"(x8.v[e]), "d"(y.v[e]));
#elif __CUDA_ARCH__ >= 800
      const double a[] = {x.v[e], x8.v[e]};
      KERNOPS_UNROLL
      for (int half = 0; half < 2; ++half)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(a[half]), "d"(y.v[e]));
#endif
    }
  }
};

// Floats as the sum of two numbers of 11 bits. What is left out of x y, low times low, is 2^-24 of it. Infinity has no
// such parts: where a result is not finite, it is to be found otherwise.
struct Floats {
  using T = float;
  template <int N> struct Part { unsigned high[N], low[N]; };
  static constexpr int most_chunks = 2, most_resident = 2;
  static constexpr bool finite = true;

  static __device__ __forceinline__ unsigned rounded(float x) {
    unsigned high;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(x));
    return high;
  }
  template <int N> static __device__ __forceinline__ Part<N> part(const Few<N, float>& some) {
    Part<N> split;
    KERNOPS_UNROLL
    for (int e = 0; e < N; ++e) {
      split.high[e] = rounded(some.v[e]);
      split.low[e] = rounded(some.v[e] - __uint_as_float(split.high[e]));
    }
    return split;
  }
  template <int N>
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[N], const unsigned (&x8)[N],
                                                  const unsigned (&y)[N]) {
    KERNOPS_UNROLL
    for (int e = 0; e < N; e += 2)
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(x[e]), "r"(x8[e]), "r"(x[e + 1]), "r"(x8[e + 1]), "r"(y[e]), "r"(y[e + 1]));
  }
  template <class P>
  static __device__ __forceinline__ void add_rest(float (&c)[4], const P& x, const P& x8, const P& y) {
    multiply(c, x.high, x8.high, y.low);
    multiply(c, x.low, x8.low, y.high);
  }
  template <class P> static __device__ __forceinline__ void add(float (&c)[4], const P& x, const P& x8, const P& y) {
    multiply(c, x.high, x8.high, y.high);
  }
};

// The same in numbers of 16 bits, twice as fast. They have little room for exponents: put_scaled() makes them.
struct Halves {
  using T = float;
  template <int N> struct Part { unsigned high[N / 2], low[N / 2]; };
  static constexpr int most_chunks = 4, most_resident = 8;
  static constexpr bool finite = false;

  static __device__ __forceinline__ Part<4> part(const Few<4, float>& unit) {
    return {{__float_as_uint(unit.v[0]), __float_as_uint(unit.v[1])},
            {__float_as_uint(unit.v[2]), __float_as_uint(unit.v[3])}};
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&x)[2], const unsigned (&x8)[2],
                                                  const unsigned (&y)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(x[0]), "r"(x8[0]), "r"(x[1]), "r"(x8[1]), "r"(y[0]), "r"(y[1]));
  }
  template <class P>
  static __device__ __forceinline__ void add_rest(float (&c)[4], const P& x, const P& x8, const P& y) {
    multiply(c, x.high, x8.high, y.low);
    multiply(c, x.low, x8.low, y.high);
  }
  template <class P> static __device__ __forceinline__ void add(float (&c)[4], const P& x, const P& x8, const P& y) {
    multiply(c, x.high, x8.high, y.high);
  }
};

// Inner products of the rows and lanes of a tile. The lanes come by way of shared memory, in stages of a few chunks, of
// which one is multiplied while the next one is on its way. The rows are a thread's own: they stay in its registers where
// one stage is all (`whole`).
template <class Numbers, int C, class Terms> struct ByTensorCores {
  using T = typename Numbers::T;
  using Tile = PairTile<T, C>;
  using Own = OwnPairs<C>;
  static constexpr int unit = 16 / sizeof(T);
  using Part = typename Numbers::template Part<unit>;
  static constexpr int chunk = 4 * unit, chunks = (Terms::size + chunk - 1) / chunk;
  static constexpr bool whole = chunks <= Numbers::most_resident, by_parts = whole, in_shared = false;
  static constexpr int at_once = whole ? chunks : Numbers::most_chunks, stages = chunks / at_once, left = chunks % at_once,
                       depth = at_once * chunk, stage = depth * Tile::lanes, shared = 2 * stage;
  Part x[at_once][Own::rows];

  __device__ __forceinline__ void take_rows(const TilePlace<T>& at, int first) {
    KERNOPS_UNROLL
    for (int r = 0; r < Own::rows; ++r) {
      const int row = Own::row(r);
      const T* from = at.rows + Terms::Rows::nth(0) + (row < at.row_count ? row : 0) * (long long)at.row_stride;
      KERNOPS_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int entry = first + k * chunk + Own::j() * unit;
        Few<unit, T> some{};
        if (Terms::size % depth == 0 || entry < Terms::size) some = few<unit>(from + entry);
        if (Terms::size % unit > 0) KERNOPS_UNROLL
          for (int e = 0; e < unit; ++e)
            if (entry + e >= Terms::size) some.v[e] = 0;
        x[k][r] = Numbers::part(some);
      }
    }
  }
  __device__ __forceinline__ void begin(const TilePlace<T>& at) {
    if (whole) take_rows(at, 0);
  }

  // The entries of the lanes from `first` on; unit j of chunk k of a lane comes to (k * lanes + lane) * 4 + j.
  __device__ __forceinline__ void send_lanes(const TilePlace<T>& at, T* to, int first) const {
    KERNOPS_UNROLL
    for (int n = threadIdx.x; n < at_once * Tile::lanes * 4; n += Tile::threads) {
      const int lane = n / 4 % Tile::lanes, entry = first + n / (4 * Tile::lanes) * chunk + n % 4 * unit,
                bytes = (Terms::size - entry) * int(sizeof(T));
      const T* from = at.lanes + Terms::Lanes::nth(0) + (lane < at.lane_count ? lane : 0) * (long long)at.lane_stride;
      send(to + n * unit, bytes > 0 ? from + entry : from, bytes < 0 ? 0 : bytes < 16 ? bytes : 16);
    }
  }
  __device__ __forceinline__ void send_first(const TilePlace<T>& at, T* to) const { send_lanes(at, to, 0); }

  // Of a thread's lanes, `some` groups of 2 from group n on; their inner products, and as many sums of chunks, go on side
  // by side.
  template <int count, int some>
  __device__ __forceinline__ void multiply(const T* lanes, int n, T (&sum)[Own::rows][2 * some], bool fresh) const {
    constexpr int together = Numbers::most_chunks < count ? Numbers::most_chunks : count;
    KERNOPS_UNROLL
    for (int first = 0; first < count; first += together) {
      T c[some][Own::rows / 2][4] = {};
      Part y[some][together];
      KERNOPS_UNROLL
      for (int k = 0; k < together && first + k < count; ++k) KERNOPS_UNROLL
        for (int g = 0; g < some; ++g) {
          const int lane = 8 * (n + g) + Own::i();
          y[g][k] = Numbers::part(few<unit>(lanes + (((first + k) * Tile::lanes + lane) * 4 + Own::j()) * unit));
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
  template <int count> __device__ __forceinline__ void multiply_all(const T* lanes, Contracted<T, C>& sum, bool fresh) const {
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

  // The first stage of the lanes is in `now`, seen by all threads; the same again is free at `next`. As soon as there is
  // room, send_next(to) may send what comes next to where `now` is then.
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, C>& sum, const TilePlace<T>& at, const O&, T*, T*& now, T*& next,
                                      Send send_next) {
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
