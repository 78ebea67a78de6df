// Inner products of long vectors of doubles, by tensor cores.
#pragma once
#include <kernops/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Other GPUs have few units for doubles, if any, and floats are as fast without.
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900
constexpr bool fast_tensor_cores = true;
#else
constexpr bool fast_tensor_cores = false;
#endif

// c += a b by tensor cores: 16 rows x 8 lanes, 4 entries of each. Thread 4 i + j of a warp has entry j of rows i and i + 8
// and of lane i, and the sums of these rows with lanes 2 j and 2 j + 1.
__device__ __forceinline__ void multiply_add(double (&c)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
#else
  KERNOPS_UNROLL
  for (int half = 0; half < 2; ++half)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
        : "d"(a[half]), "d"(b));
#endif
}

// Inner products of doubles by the tensor cores of data centres: each warp has 32 rows x 8 C lanes.
template <int C, class Terms> struct ByTensorCores {
  using Tile = PairTile<double, C>;
  static constexpr int row_stride = Stage<double, Tile::rows, Tile::depth>::stride,
                       lane_stride = Stage<double, Tile::lanes, Tile::depth>::stride;
  double sum[2][C][4];

  static __device__ __forceinline__ int i() { return threadIdx.x % 32 / 4; }
  static __device__ __forceinline__ int j() { return threadIdx.x % 4; }
  static __device__ __forceinline__ int row(int a, int half) { return threadIdx.x / 32 * 32 + 16 * a + 8 * half + i(); }

  __device__ __forceinline__ void start() {
    KERNOPS_UNROLL
    for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) KERNOPS_UNROLL
    for (int e = 0; e < 4; ++e) sum[a][c][e] = 0;
  }
  template <class O> __device__ __forceinline__ void add(const Buffer<double>& buffer, const O&) {
    KERNOPS_UNROLL_BY(1)
    for (int first = 0; first < buffer.depth; first += 4) {
      const int k = first + j();
      const bool exists = k < buffer.depth;
      const auto entry = [=](const double* from) { return exists ? *from : 0; };
      double x[2][2];
      KERNOPS_UNROLL
      for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
      for (int half = 0; half < 2; ++half) x[a][half] = entry(buffer.rows + k * row_stride + row(a, half));
      KERNOPS_UNROLL
      for (int c = 0; c < C; ++c) {
        const double y = entry(buffer.lanes + k * lane_stride + 8 * c + i());
        KERNOPS_UNROLL
        for (int a = 0; a < 2; ++a) multiply_add(sum[a][c], x[a], y);
      }
    }
  }
  __device__ __forceinline__ void put(double* values) const {
    KERNOPS_UNROLL
    for (int a = 0; a < 2; ++a) KERNOPS_UNROLL
    for (int c = 0; c < C; ++c) KERNOPS_UNROLL
    for (int e = 0; e < 4; ++e)
      values[(8 * c + 2 * j() + e % 2) * Tile::stride + row(a, e / 2)] = sum[a][c][e];
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
