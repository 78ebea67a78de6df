// Kernels that begin early: while the one before them still runs, as soon as all its blocks have begun and say so, or
// end. Until they have waited for it, they may not touch what it reads or writes. Where that cannot be, all this is
// nothing.
#pragma once

namespace kernops {
inline namespace KERNOPS_ISA {

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void let_next_kernel_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
#else
__device__ __forceinline__ void wait_for_kernel_before() {}
__device__ __forceinline__ void let_next_kernel_begin() {}
#endif

}  // namespace KERNOPS_ISA
}  // namespace kernops
