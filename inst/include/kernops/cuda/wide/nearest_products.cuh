// Inner products of the rows and columns of a tile, by tensor cores: a warp processes 32 rows.
#pragma once
#include <kernops/jobs/nearest.h>
#include <kernops/cuda/wide/tensor_numbers.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Thread 4 i + j processes rows i, i + 8, i + 16 and i + 24 of its warp.
__device__ __forceinline__ int row_of_thread(int r) { return threadIdx.x / 32 * 32 + 8 * r + threadIdx.x % 32 / 4; }

#ifdef __CUDA_ARCH__
// Two units (of 16 bytes) of a chunk, for 16 vectors. These vectors belong to 16 rows or to two groups of 8 columns.
struct UnitsOfVectors {
  unsigned of[2][2];
  template <bool by_groups> __device__ __forceinline__ void get(const float* chunk, int first, int u) {
    const int lane = threadIdx.x % 32, half = lane / 16, eighth = lane / 8 % 2;
    const int vector = first + lane % 8 + 8 * (by_groups ? half : eighth), unit = u + (by_groups ? eighth : half);
    const auto got = Halves::matrices(chunk + unit_of_column<nearest_tile>(0, vector, unit) * 4);
    of[0][0] = got.high[0], of[0][1] = by_groups ? got.high[1] : got.low[0];
    of[1][0] = by_groups ? got.low[0] : got.high[1], of[1][1] = got.low[1];
  }
};

// One chunk of each of the 32 rows that a warp processes, as fragments of tensor cores.
struct ChunkOfRows {
  UnitsOfVectors x[2][2];
  __device__ __forceinline__ void get(const float* chunk) {
    KERNOPS_EACH(i, 2)
      KERNOPS_EACH(p, 2) x[i][p].get<false>(chunk, threadIdx.x / 32 * 32 + 16 * i, 2 * p);
  }
};
#else
// The version for the emulator on a CPU: a chunk of the vectors of the thread's rows.
struct ChunkOfRows {
  float units[4][16];
  void get(const float* chunk) {
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < 16; ++k)
        units[r][k] = chunk[unit_of_column<nearest_tile>(0, row_of_thread(r), k / 4) * 4 + k % 4];
  }
};
#endif

// The sums of a thread. In each group of 8 columns, thread 4 i + j has columns 2 j and 2 j + 1. The sum of a pair
// starts with the column's term of the bound. If numbers have two parts and vectors have several chunks, tensor cores
// sum each chunk separately, because they truncate bits. Ordinary additions then add the sums of the chunks.
template <int size, int parts, int groups> struct NearestProducts {
  static constexpr bool apart = parts == 2 && size > 16;
  float sum[2][groups][4];

  static __device__ __forceinline__ int column(int n, int e) { return 8 * n + threadIdx.x % 4 * 2 + e; }

  // Starts the sums with the terms of the columns. For each two adjacent columns, `of_columns` holds four numbers: the
  // two terms, and then the same two terms again.
  __device__ __forceinline__ void begin(const float* of_columns, int first) {
    KERNOPS_EACH(n, groups) {
      const auto both = few<4>(of_columns + 2 * column(first + n, 0));
      KERNOPS_EACH(e, 4) sum[0][n][e] = sum[1][n][e] = both.v[e];
    }
  }
  // Copies the sums of a group to v. The sum of row r and column e of the thread becomes v[2 r + e].
  __device__ __forceinline__ void of_group(int group, float (&v)[8]) const {
    KERNOPS_EACH(n, groups) {
      if (n != group) continue;
      KERNOPS_EACH(e, 8) v[e] = sum[e / 4][n][e % 4];
      break;
    }
  }

#ifdef __CUDA_ARCH__
  __device__ __forceinline__ void add(const ChunkOfRows& rows, const float* columns, int first) {
    KERNOPS_EVERY(n, 2, groups) {
      UnitsOfVectors y[2];
      KERNOPS_UNROLL
      for (int q = 0; q < (size > 16 || parts == 2 ? 2 : 1); ++q) y[q].get<true>(columns, 8 * (first + n), 2 * q);
      KERNOPS_EACH(i, 2)
        KERNOPS_EACH(g, 2) {
          float c[4];
          KERNOPS_EACH(e, 4) c[e] = apart ? 0 : sum[i][n + g][e];
          const auto multiply = [&](int p, int q) {
            Halves::multiply(c, rows.x[i][p].of[0], rows.x[i][p].of[1], y[q].of[g]);
          };
          if (parts == 2) multiply(1, 0), multiply(0, 1);
          if (parts == 1 && size > 16) multiply(1, 1);
          multiply(0, 0);
          KERNOPS_EACH(e, 4) sum[i][n + g][e] = apart ? sum[i][n + g][e] + c[e] : c[e];
        }
    }
  }
#else
  static float number(const float* unit, int k) {
    return Halves::number(reinterpret_cast<const unsigned short*>(unit)[k % 8]);
  }
  static float of_row(const ChunkOfRows& rows, int r, int k) { return number(rows.units[r] + k / 8 * 4, k); }
  static float of_column(const float* chunk, int vector, int k) {
    return number(chunk + unit_of_column<nearest_tile>(0, vector, k / 8) * 4, k);
  }
  void add(const ChunkOfRows& rows, const float* columns, int first) {
    const auto both = [](auto of) { return of(0) + (parts == 2 ? of(16) : 0); };
    for (int k = 0; k < 32 / parts; ++k)
      for (int n = 0; n < groups; ++n)
        for (int e = 0; e < 8; ++e) {
          const float x = both([&](int p) { return of_row(rows, e / 2, k + p); });
          sum[e / 4][n][e % 4] += x * both([&](int p) { return of_column(columns, column(first + n, e % 2), k + p); });
        }
  }
#endif
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
