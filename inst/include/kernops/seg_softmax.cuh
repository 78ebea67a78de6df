// The second pass of a softmax: each value meets the result of its segment.
#pragma once
#include <kernops/seg_ops.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// exp(x - L) to where x stands, L being the logarithm of the sum of exp(x): NaN where that is
// infinite.
template <class V, Where where, int VT> __device__ void softmax(const SegmentRun& job) {
  const int tile = blockIdx.x * segment_tile, first = tile + threadIdx.x / 32 * 32 * VT, column = blockIdx.y;
  const double* results = static_cast<const double*>(job.out) + column * job.out_column;
  if (first >= job.plan.count) return;
  each_place<VT, where>(job, tile, first, true, [&](int, long long at, int row) {
    const double x = Anywhere<V, double, where, false>::value(job, column, at), mass = results[row];
    job.softmax[column * job.softmax_column + at] = exp((x - mass) + (mass - mass));
  });
}

#define KERNOPS_SOFTMAX(V, where, VT)                                      \
  extern "C" __global__ void __launch_bounds__(kernops::segment_tile / VT) \
      kernops_softmax(kernops::SegmentRun job) {                           \
    kernops::softmax<V, where, VT>(job);                                   \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
