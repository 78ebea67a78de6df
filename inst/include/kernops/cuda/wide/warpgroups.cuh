// Inner products of long vectors by warp groups (groups of four warps, whose tensor cores multiply together).
#pragma once
#include <kernops/cuda/wide/tensor_numbers.cuh>
#include <kernops/cuda/wide/warpgroup_products.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// The counterpart of ByTensorCores for vectors that put_scaled() has written. If shared memory has space for rows and
// columns, the rows of a block stay in shared memory (`resident`). If the space is too small, rows and columns are
// loaded in stages, and tiles have 128 columns. If two warp groups have the same rows, and shared memory can hold their
// sums, each warp group contracts half of the entries. Each warp group then adds the sums of the other warp group.
template <class L, class Terms> struct ByWarpgroups {
  using T = float;
  using Tile = PairTile<T, L>;
  using Own = OwnPairs<L>;
  static_assert(has_warpgroups && Own::rows == 2 && Terms::scaled, "the text is for another GPU");
  static constexpr int chunk = 16, chunks = (Terms::size + chunk - 1) / chunk;
  static constexpr bool resident = Terms::summed || L::C < 16, by_parts = false, in_shared = false;
  static constexpr int most_at_once = Terms::summed ? chunks
                                      : !resident   ? 6
                                      : chunks > 8  ? 8
                                                    : 4,
                       at_once = chunks < most_at_once ? chunks : most_at_once,
                       of_columns = at_once * chunk * Tile::columns, of_rows = at_once * chunk * Tile::rows,
                       stage = of_columns + (resident ? 0 : of_rows), shared = 2 * stage,
                       of_own_rows = resident ? chunks * chunk * Tile::rows : 0;
  static constexpr bool whole = at_once == chunks;
  static constexpr bool exchanges = L::sharing == 2 && whole && chunks <= 26;
  static constexpr int half = (chunks + 1) / 2, own_pairs = Own::rows * Own::columns,
                       for_rows = of_own_rows + (exchanges ? Tile::threads * own_pairs : 0);
  unsigned rows;  // address of the rows
  T* exchanged;

  __device__ __forceinline__ void begin(const TilePlace<T>& at, T* to) {
    if (resident) send_rows<chunks>(at, to, 0);
    rows = place_of(to + first_row() * chunk), exchanged = to + of_own_rows;
  }
  __device__ __forceinline__ void send_first(const TilePlace<T>& at, T* to) const { send(at, to, 0); }

 private:
  // The first row of the warp group.
  static __device__ __forceinline__ int first_row() { return L::sharing == 2 ? 0 : threadIdx.x / 128 * 64; }
  // Loads chunks of vectors from vector `first` on. A thread loads the same unit of every chunk, for every 64th vector.
  template <int count, int vectors>
  static __device__ __forceinline__ void send(const T* from, int there, int stride, T* to, int first) {
    const int u = threadIdx.x % 4;
    KERNOPS_UNROLL
    for (int n = threadIdx.x / 4; n < vectors; n += Tile::threads / 4) {
      const T* vector = from + (n < there ? n : 0) * (long long)stride + u * 4;
      KERNOPS_EACH(k, count)
        if (count == chunks || first + k < chunks)
          kernops::send(to + unit_of_column<vectors>(k, n, u) * 4, vector + (first + k) * chunk, 16);
    }
  }
  template <int count> static __device__ __forceinline__ void send_rows(const TilePlace<T>& at, T* to, int first) {
    send<count, Tile::rows>(at.rows + Terms::Rows::nth(0), at.row_count, at.row_stride, to, first);
  }
  // Loads a stage of columns and, if rows are not `resident`, of rows.
  static __device__ __forceinline__ void send(const TilePlace<T>& at, T* to, int first) {
    send<at_once, Tile::columns>(at.columns + Terms::Columns::nth(0), at.column_count, at.column_stride, to, first);
    if (!resident) send_rows<at_once>(at, to + of_columns, first);
  }

  // Multiplies `count` chunks of a stage from chunk `first` on; only the first `there` of these chunks exist. Two
  // chunks are multiplied at a time, and their products are added to each other before they are added to the sums.
  template <int count>
  __device__ __forceinline__ void multiply(const T* stage, int first, Contracted<T, L>& sum, bool fresh,
                                           int there = count) const {
    const unsigned y = place_of(stage),
                   x = resident ? rows + first * 4 * Tile::rows : place_of(stage + of_columns + first_row() * chunk);
    KERNOPS_EVERY(k, 2, count) {
      const unsigned these_x = x + k * 4 * Tile::rows, these_y = y + k * 4 * Tile::columns;
      if (k + 1 < there)
        multiply_together<2>(these_x, these_y, sum, fresh && k == 0);
      else if (k < there)
        multiply_together<1>(these_x, these_y, sum, fresh && k == 0);
    }
  }
  template <int some>
  __device__ __forceinline__ void multiply_together(unsigned x, unsigned y, Contracted<T, L>& sum, bool fresh) const {
    T c[4 * L::C];
    begin_products();
    KERNOPS_EACH(part, 3)
      KERNOPS_EACH(k, some)
        multiply_rows(c, found_at(x + k * 4 * Tile::rows + (part == 0 ? small_parts : 0)),
                      found_at(y + k * 4 * Tile::columns + (part == 1 ? small_parts : 0)), part > 0 || k > 0);
    end_products();
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(n, Own::columns) {
        const T part = c[n / 2 * 4 + r * 2 + n % 2];
        sum.v[r][n] = fresh ? part : sum.v[r][n] + part;
      }
  }

  // Contracts half of the entries, and then adds the sums of the other warp group; both groups obtain equal sums.
  __device__ __forceinline__ void multiply_half(const T* stage, Contracted<T, L>& sum) const {
    const int second = threadIdx.x / 128, first = second * half;
    multiply<half>(stage + first * chunk * Tile::columns, first, sum, true, second ? chunks - half : half);
    T* const own = &sum.v[0][0];
    constexpr int quads = own_pairs / 4;
    float4* const all = reinterpret_cast<float4*>(exchanged) + threadIdx.x % 128;
    KERNOPS_EACH(q, quads) copy_quad(&all[(second * quads + q) * 128].x, own + 4 * q);
    __syncthreads();
    KERNOPS_EACH(q, quads) {
      const float4 other = all[((1 - second) * quads + q) * 128];
      own[4 * q] += other.x, own[4 * q + 1] += other.y, own[4 * q + 2] += other.z, own[4 * q + 3] += other.w;
    }
  }

 public:
  template <class O, class Send>
  __device__ __forceinline__ void run(Contracted<T, L>& sum, const TilePlace<T>& at, const O&, T*, T*& now, T*& next,
                                      Send send_next) {
    constexpr int stages = (chunks - 1) / at_once;  // number of stages before the last stage
    KERNOPS_EACH(r, Own::rows)
      KERNOPS_EACH(n, Own::columns) sum.v[r][n] = 0;
    KERNOPS_UNROLL_BY(1)
    for (int s = 0; s < stages; ++s) {
      send(at, next, (s + 1) * at_once);
      multiply<at_once>(now, s * at_once, sum, false);
      wait_for_sent<L::warpgroups != 0>();
      __syncthreads();
      swap(now, next);
    }
    send_next(next);
    if constexpr (exchanges)
      multiply_half(now, sum);
    else
      multiply<chunks - stages * at_once>(now, stages * at_once, sum, stages == 0);
    swap(now, next);
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
