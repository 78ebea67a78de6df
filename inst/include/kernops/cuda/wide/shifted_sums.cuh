// The results of sums of exponentials with many weights (cuda/pairs/shifted_sums.cpp).
#pragma once
#include <kernops/jobs/shifted_sums.h>

namespace kernops {

// One thread a result. Where all exponents are -Inf, every sum is 0; those of numbers that the sums took for others are
// NaN.
inline __device__ void finish_shifted_sums(const ShiftedSumsJob& job) {
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x, row = n / job.results;
  const int k = int(n % job.results), of = k - job.first;
  if (row >= job.row_count) return;
  constexpr double most = ShiftedSumsJob::most, infinite = 1.7976931348623157e308;
  const double top = job.top[row], size = top < 0 ? -top : top;
  const double factor = top < -infinite ? 0 : size > most && size <= infinite ? 0.0 / 0.0 : 1;
  const double* sums = job.sums + row * job.width;
  double result = of < 0 ? top : factor * sums[of];
  if (job.take_log) result = ::log(result) + top;
  if (job.divide) result /= factor * sums[job.width - 1];
  job.out[row * job.out_row + k * job.out_entry] = result;
}

#define KERNOPS_SHIFTED_SUMS                                                            \
  extern "C" __global__ void kernops_finish_shifted_sums(kernops::ShiftedSumsJob job) { \
    kernops::finish_shifted_sums(job);                                                  \
  }

}  // namespace kernops
