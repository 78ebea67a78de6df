// Products of 16-bit numbers by the tensor cores of compute capability 9.0, for a warp group (four warps): each warp
// multiplies its 16 rows by data in shared memory. The products run asynchronously until end_products().
#pragma once
#include <kernops/cuda/wide/pair_tile.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool has_warpgroups = true;
#else
constexpr bool has_warpgroups = false;
#endif

// place_of() converts the address of the vectors of a chunk in shared memory to a number of units of 16 bytes, which is
// equal for all threads of a warp. found_at() returns the descriptor by which tensor cores read these vectors. A vector
// has 64 bytes, in units that unit_of_column() has permuted; small parts are 2 units after large parts. If the product
// sums over the vectors, the distance to the next chunk is `next_chunk` units.
__device__ __forceinline__ unsigned place_of(const float* vectors) {
  return __shfl_sync(~0u, static_cast<unsigned>(__cvta_generic_to_shared(vectors)) >> 4, 0);
}
__device__ __forceinline__ unsigned long long found_at(unsigned place, int next_chunk = 1) {
  constexpr unsigned long long eight_vectors = 8 * 4, in_units_of_64_bytes = 2;
  return place | (unsigned(next_chunk) << 16 | eight_vectors << 32 | in_units_of_64_bytes << 62);
}
constexpr int small_parts = 2;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define KERNOPS_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define KERNOPS_NAMES_32 \
  KERNOPS_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define KERNOPS_NAMES_64                                                                                 \
  KERNOPS_NAMES_32                                                                                       \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51" \
  ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define KERNOPS_4(c, n) "+f"(c[n]), "+f"(c[n + 1]), "+f"(c[n + 2]), "+f"(c[n + 3])
#define KERNOPS_16(c, n) KERNOPS_4(c, n), KERNOPS_4(c, n + 4), KERNOPS_4(c, n + 8), KERNOPS_4(c, n + 12)
// Computes c = x y or, if `more` is true, c = c + x y. x contains the rows of a warp group, in shared memory or in
// registers. y contains some columns or, if `turned` is true, some entries of the columns.
#define KERNOPS_PRODUCT(columns, names, x, y, more, turned)                                                        \
  "{.reg .pred p; setp.ne.b32 p, " more ", 0; wgmma.mma_async.sync.aligned.m64n" columns "k16.f32.f16.f16 {" names \
  "}, " x ", " y ", p, 1, 1, " turned ";}"
__device__ __forceinline__ void multiply_rows(float (&c)[16], unsigned long long x, unsigned long long y, bool more) {
  asm volatile(KERNOPS_PRODUCT("32", KERNOPS_NAMES_16, "%16", "%17", "%18", "0, 0")
               : KERNOPS_16(c, 0)
               : "l"(x), "l"(y), "r"(int(more)));
}
__device__ __forceinline__ void multiply_rows(float (&c)[32], unsigned long long x, unsigned long long y, bool more) {
  asm volatile(KERNOPS_PRODUCT("64", KERNOPS_NAMES_32, "%32", "%33", "%34", "0, 0")
               : KERNOPS_16(c, 0), KERNOPS_16(c, 16)
               : "l"(x), "l"(y), "r"(int(more)));
}
__device__ __forceinline__ void multiply_rows(float (&c)[64], unsigned long long x, unsigned long long y, bool more) {
  asm volatile(KERNOPS_PRODUCT("128", KERNOPS_NAMES_64, "%64", "%65", "%66", "0, 0")
               : KERNOPS_16(c, 0), KERNOPS_16(c, 16), KERNOPS_16(c, 32), KERNOPS_16(c, 48)
               : "l"(x), "l"(y), "r"(int(more)));
}
__device__ __forceinline__ void multiply_numbers(float (&c)[32], const unsigned (&x)[2], const unsigned (&x8)[2],
                                                 unsigned long long y, bool more) {
  asm volatile(KERNOPS_PRODUCT("64", KERNOPS_NAMES_32, "{%32, %33, %34, %35}", "%36", "%37", "1")
               : KERNOPS_16(c, 0), KERNOPS_16(c, 16)
               : "r"(x[0]), "r"(x8[0]), "r"(x[1]), "r"(x8[1]), "l"(y), "r"(int(more)));
}
// begin_products() orders earlier writes of registers before the products; end_products() waits for the products.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
#else
template <int n>
__device__ __forceinline__ void multiply_rows(float (&)[n], unsigned long long, unsigned long long, bool) {}
__device__ __forceinline__ void multiply_numbers(float (&)[32], const unsigned (&)[2], const unsigned (&)[2],
                                                 unsigned long long, bool) {}
__device__ __forceinline__ void begin_products() {}
__device__ __forceinline__ void end_products() {}
#endif

}  // namespace KERNOPS_ISA
}  // namespace kernops
