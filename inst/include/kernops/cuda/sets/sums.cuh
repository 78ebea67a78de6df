// Sums of a likelihood and its derivatives over sets (a set is a point and its neighbours), as in cpu/sets/sums.h.
#pragma once
#include <kernops/cuda/sets/weights.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Row and column of entry n of a lower triangle that is stored by rows.
struct TrianglePlace {
  int row, column;
  KERNOPS_FN explicit TrianglePlace(int n) : row(0) {
    while (n > row) n -= ++row;
    column = n;
  }
};

template <class T, class Covariance, class Slopes> class DeviceSetSums {
 public:
  __device__ DeviceSetSums(const DeviceSetJob<T>& job, T* memory)
      : job_(job),
        sums_(reinterpret_cast<double*>(memory + job.memory.sums)),
        dots_(memory + job.memory.dots),
        set_(job, memory),
        changes_(job, memory, set_) {
    for (int n = threadIdx.x; n < job.sums(); n += blockDim.x) sums_[n] = 0;
  }

  // Processes the sets of a block one after another; each thread accumulates some of the sums.
  __device__ void run() {
    const int block = job_.first_block + blockIdx.x;
    const long long first = (long long)block * job_.chunk;
    int bad = -1;
    for (long long s = first; s < first + job_.chunk && s < job_.sets; ++s) {
      set_.take(s);
      if (bad < 0 && !(set_.matrix.inverse_sd() < infinity<T>())) bad = int(s);
      if constexpr (Slopes::size > 0) take_slopes();
      for (int n = threadIdx.x; n < job_.sums(); n += blockDim.x) sums_[n] += term(n);
    }
    for (int n = threadIdx.x; n < job_.sums(); n += blockDim.x)
      job_.parts[(long long)n * job_.blocks + block] = sums_[n];
    if (threadIdx.x == 0) job_.bad[block] = bad;
  }

 private:
  __device__ double last(int row) const { return set_.matrix.element(set_.matrix.size + row, set_.matrix.size - 1); }

  // The result of half_last() for two rows of the set's matrix: row p of the slopes (derivatives), and a row that
  // contains values or slopes.
  __device__ T& dot(int p, int row) const { return dots_[p * (job_.columns + Slopes::size) + row]; }

  __device__ void take_slopes() const {
    set_.matrix.contrast(changes_.u);
    changes_.solve();
    const int across = job_.columns + Slopes::size;
    for (int n = threadIdx.x; n < Slopes::size * across; n += blockDim.x) {
      const int p = n / across, row = n % across;
      if (row <= job_.columns + p) dot(p, row) = set_.matrix.half_last(changes_.row(p), set_.matrix.size + row);
    }
    __syncthreads();
  }

  // Returns the term that the set contributes to sum n; products are computed in doubles.
  __device__ double term(int n) const {
    const int rows = 1 + job_.products(), p = n / rows - 1, place = n % rows;
    if (n == 0) return -2 * log(set_.matrix.inverse_sd());
    if (n < rows) {
      const TrianglePlace at(n - 1);
      return last(at.row) * last(at.column);
    }
    if constexpr (Slopes::size > 0) {
      if (p >= Slopes::size) {
        const TrianglePlace at(n - rows * (1 + Slopes::size));
        return 2 * dot(at.row, job_.columns + at.column);
      }
      if (place == 0) return last(job_.columns + p);
      const TrianglePlace at(place - 1);
      return -dot(p, at.row) * last(at.column) - dot(p, at.column) * last(at.row);
    }
    return 0;
  }

  const DeviceSetJob<T>& job_;
  double* const sums_;
  T* const dots_;
  DeviceSet<T, Covariance> set_;
  const DeviceSetChanges<T, Covariance, Slopes> changes_;
};

// For each sum, adds the parts of all blocks in an order that depends only on the number of blocks; one block per sum.
template <class T> __device__ void total_sets(const DeviceSetJob<T>& job) {
  __shared__ double sums[set_total_threads];
  const double* parts = job.parts + (long long)blockIdx.x * job.blocks;
  double sum = 0;
  for (int n = threadIdx.x; n < job.blocks; n += set_total_threads) sum += parts[n];
  sums[threadIdx.x] = sum;
  for (int half = set_total_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) job.totals[blockIdx.x] = sums[0];
}

#define KERNOPS_SET_KERNEL(name, T, run)                                                                            \
  extern "C" __global__ void __launch_bounds__(256, 3) name(const __grid_constant__ kernops::DeviceSetJob<T> job) { \
    KERNOPS_DYNAMIC_SHARED(room);                                                                                   \
    T* const memory = reinterpret_cast<T*>(room);                                                                   \
    run;                                                                                                            \
  }
#define KERNOPS_SETS(T, Covariance, Slopes)                                                                   \
  KERNOPS_SET_KERNEL(kernops_set_sums, T, (kernops::DeviceSetSums<T, Covariance, Slopes>(job, memory).run())) \
  extern "C" __global__ void __launch_bounds__(kernops::set_total_threads)                                    \
      kernops_set_totals(const __grid_constant__ kernops::DeviceSetJob<T> job) {                              \
    kernops::total_sets(job);                                                                                 \
  }
#define KERNOPS_SET_WEIGHTS(T, Covariance, Slopes) \
  KERNOPS_SET_KERNEL(kernops_set_weights, T, (kernops::DeviceSetWeights<T, Covariance, Slopes>(job, memory).run()))

}  // namespace KERNOPS_ISA
}  // namespace kernops
