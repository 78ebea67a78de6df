// Computes the weights of the neighbours in the conditional mean of each point, and the conditional standard deviation
// of the point. Also computes the derivatives of the weights and of the standard deviation. The formulas are in
// cpu/sets/weights.h.
#pragma once
#include <kernops/cuda/sets/changes.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T, class Covariance, class Slopes> class DeviceSetWeights {
 public:
  __device__ DeviceSetWeights(const DeviceSetJob<T>& job, T* memory)
      : job_(job), set_(job, memory), changes_(job, memory, set_) {}

  // Computes the weights of each set. A point that its neighbours determine exactly has standard deviation 0.
  __device__ void run() {
    const long long first = (long long)(job_.first_block + blockIdx.x) * job_.chunk;
    for (long long s = first; s < first + job_.chunk && s < job_.sets; ++s) {
      set_.take(s);
      set_.matrix.contrast(changes_.u);
      const double inverse = set_.matrix.inverse_sd(), sd = inverse == inverse ? 1 / inverse : 0;
      put_row(s, 0, -1, sd);
      if constexpr (Slopes::size > 0) put_changes(s, sd);
    }
  }

 private:
  __device__ void put_changes(long long set, double sd) const {
    const int last = set_.matrix.size - 1;
    __syncthreads();
    changes_.solve();
    for (int p = 0; p < Slopes::size; ++p) {
      const int row = changes_.row(p);
      for (int k = threadIdx.x; k <= last; k += blockDim.x)
        changes_.u[k] = k < last ? set_.matrix.element(row, k) : T(0);
      set_.matrix.solve_transposed(changes_.u);
      put_row(set, 1 + p, sd, double(set_.matrix.element(row, last)) / 2);
      __syncthreads();
    }
  }

  // Writes row n of the results of a set; the weights are u times `scale`.
  __device__ void put_row(long long set, int n, double scale, double sd) const {
    const long long row = set * (1 + Slopes::size) + n;
    for (int k = threadIdx.x; k < job_.m; k += blockDim.x)
      job_.weights[row * job_.m + k] = k < set_.members.known ? scale * changes_.u[set_.matrix.size - 2 - k] : 0;
    if (threadIdx.x == 0) job_.sd[row] = sd;
  }

  const DeviceSetJob<T>& job_;
  DeviceSet<T, Covariance> set_;
  const DeviceSetChanges<T, Covariance, Slopes> changes_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
