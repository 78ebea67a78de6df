// Programmatic dependent launch: a kernel begins while the previous kernel still runs, as soon as all blocks of the
// previous kernel have signalled or ended. A kernel must wait for the previous kernel before it accesses memory that
// the previous kernel reads or writes. On GPUs without this feature, the functions below have no effect.
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
