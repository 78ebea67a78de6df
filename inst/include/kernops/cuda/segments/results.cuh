// Changes the results of segments on the device, with one thread per result.
#pragma once
#include <kernops/jobs/device_segments.h>
#include <kernops/missing.h>
#include <kernops/state.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// Calls f(out, a, b) for each result, with the addresses of the result and of two operands. The address of an operand
// that the job does not have is null.
template <class F> __device__ void each_result(const ResultsJob& job, F f) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x; n < job.count * job.columns; n += stride) {
    const long long row = n % job.count, at = n / job.count * job.out_column + (job.rows ? job.rows[row] : row);
    f(job.out[at], job.a ? job.a + at : nullptr, job.b ? job.b + at : nullptr);
  }
}

#define KERNOPS_RESULTS(name) extern "C" __global__ void name(kernops::ResultsJob job)
#define KERNOPS_SEGMENT_RESULTS                                                                                 \
  KERNOPS_RESULTS(kernops_fill) {                                                                               \
    kernops::each_result(job, [&](double& out, const double*, const double*) { out = job.value; });             \
  }                                                                                                             \
  KERNOPS_RESULTS(kernops_find_nan) {                                                                           \
    kernops::each_result(job, [&](double& out, const double*, const double*) {                                  \
      if (out != out) *job.found = 1;                                                                           \
    });                                                                                                         \
  }                                                                                                             \
  KERNOPS_RESULTS(kernops_fill_where_none) {                                                                    \
    kernops::each_result(job, [&](double& out, const double* count, const double*) {                            \
      if (*count == 0) out = job.value;                                                                         \
    });                                                                                                         \
  }                                                                                                             \
  KERNOPS_RESULTS(kernops_mean) {                                                                               \
    kernops::each_result(job, [&](double& out, const double* sum, const double* mass) { out = *sum / *mass; }); \
  }                                                                                                             \
  /* `out` holds sums of squares; mean - mean makes the variance about an infinite mean NaN */                  \
  KERNOPS_RESULTS(kernops_variance) {                                                                           \
    kernops::each_result(job, [&](double& out, const double* mean, const double* mass) {                        \
      const double squares = out + (*mean - *mean);                                                             \
      out = *mass > 1 ? squares / (*mass - 1) : *mass <= 1 ? kernops::missing() : *mass;                        \
    });                                                                                                         \
  }                                                                                                             \
  KERNOPS_RESULTS(kernops_root) {                                                                               \
    kernops::each_result(job, [&](double& out, const double*, const double*) {                                  \
      if (out == out) out = sqrt(out);                                                                          \
    });                                                                                                         \
  }

}  // namespace KERNOPS_ISA
}  // namespace kernops
