// The part of CUDA that a kernel needs on the CPU. The threads of a kernel run in turn, and switch only at barriers
// (driver.cpp). This header is included before the text of a kernel, which g++ compiles. __CUDA_ARCH__ is not defined,
// so tensor cores, asynchronous copies and instructions of the GPU are left out, as on older GPUs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#define __CUDACC__ 1
#define __host__
#define __device__
#define __global__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define KERNOPS_DYNAMIC_SHARED(name) double* const name = static_cast<double*>(emulator_shared())

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct Index3 {
  unsigned x, y, z;
};

extern "C" {
extern Index3 threadIdx, blockIdx, blockDim, gridDim;
void emulator_wait_for_block();
void emulator_wait_for_warp();
int emulator_count(int yes);            // number of threads of a block that pass a nonzero `yes`
void* emulator_of_lane(unsigned lane);  // the 16 bytes by which thread `lane` of a warp passes values to other threads
unsigned emulator_lanes();              // a mask of the threads that have not ended
void* emulator_shared();                // shared memory of a block, of the size that the launch requests
}

inline void __syncthreads() { emulator_wait_for_block(); }
inline void __syncwarp() { emulator_wait_for_warp(); }
inline void __threadfence() {}
inline int __syncthreads_count(int yes) { return emulator_count(yes != 0); }
inline int __syncthreads_or(int yes) { return emulator_count(yes != 0) > 0; }
inline int __syncthreads_and(int yes) { return emulator_count(yes == 0) == 0; }

// Returns the argument `mine` of thread `from` of the warp.
template <class T> T exchanged(T mine, unsigned from) {
  static_assert(sizeof(T) <= 16, "a thread shows 16 bytes");
  std::memcpy(emulator_of_lane(threadIdx.x % 32), &mine, sizeof(T));
  emulator_wait_for_warp();
  T other;
  std::memcpy(&other, emulator_of_lane(from % 32), sizeof(T));
  emulator_wait_for_warp();
  return other;
}
template <class T> T __shfl_sync(unsigned, T mine, int from, int width = 32) {
  const int lane = threadIdx.x % 32;
  return exchanged(mine, lane / width * width + (from & (width - 1)));
}
template <class T> T __shfl_xor_sync(unsigned, T mine, int bits) { return exchanged(mine, threadIdx.x % 32 ^ bits); }
template <class T> T __shfl_up_sync(unsigned, T mine, unsigned by) {
  const unsigned lane = threadIdx.x % 32;
  return exchanged(mine, lane < by ? lane : lane - by);
}
template <class T> T __shfl_down_sync(unsigned, T mine, unsigned by) {
  const unsigned lane = threadIdx.x % 32;
  return exchanged(mine, lane + by > 31 ? lane : lane + by);
}
inline unsigned __ballot_sync(unsigned, int yes) {
  *static_cast<char*>(emulator_of_lane(threadIdx.x % 32)) = yes != 0;
  emulator_wait_for_warp();
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) votes |= unsigned(*static_cast<char*>(emulator_of_lane(lane))) << lane;
  votes &= emulator_lanes();
  emulator_wait_for_warp();
  return votes;
}
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, !yes) == 0; }

template <class T> T atomicAdd(T* at, T by) { return std::exchange(*at, *at + by); }
template <class T> T atomicMax(T* at, T other) { return std::exchange(*at, std::max(*at, other)); }
template <class T> T atomicMin(T* at, T other) { return std::exchange(*at, std::min(*at, other)); }
template <class T> T atomicOr(T* at, T bits) { return std::exchange(*at, *at | bits); }
template <class T> T __ldg(const T* at) { return *at; }
template <class T> size_t __cvta_generic_to_shared(T* at) { return reinterpret_cast<size_t>(at); }
inline bool __isShared(const void*) { return true; }
#define __builtin_assume(fact)
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }

template <class To, class From> To same_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y, "bits");
  std::memcpy(&y, &x, sizeof x);
  return y;
}
inline int __float_as_int(float x) { return same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)high << 32 | unsigned(low));
}

#include <kernops/scalar.h>

// Functions for which cuda/device_math.cuh uses instructions of the GPU.
namespace kernops {
inline namespace KERNOPS_ISA {
template <class T> if_scalar<T> exp2_of_small(T x) { return std::exp2(x); }
template <class T> if_scalar<T> exp2_in_turn(T x, int) { return std::exp2(x); }
template <int every, class T> if_scalar<T> exp2_of_minus(T x, int) { return std::exp2(-x); }
inline float larger_or_nan(float x, float y) { return x > y || x != x ? x : y; }
inline float larger(float x, float y) { return std::fmax(x, y); }
inline double larger(double x, double y) { return x > y ? x : y; }
}  // namespace KERNOPS_ISA
}  // namespace kernops
