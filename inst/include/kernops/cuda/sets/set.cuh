// Processes one set (a point and its neighbours) at a time. The threads of a block factor the covariance matrix of the
// set; all results are computed from the Cholesky factor.
#pragma once
#include <kernops/cuda/dynamic_shared.cuh>
#include <kernops/cuda/sets/matrix.cuh>
#include <kernops/cuda/sets/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

template <class T, class Covariance> class DeviceSet {
 public:
  __device__ DeviceSet(const DeviceSetJob<T>& job, T* memory)
      : matrix{{memory, job, 0, 0}, 0, 0}, job_(job), memory_(memory) {
    if (threadIdx.x == 0) Covariance::run_once(job.theta, *reinterpret_cast<typename Covariance::Once*>(once()));
  }

  // Computes the factor L of the covariance matrix K = L L' of a set. The rows below L become L^-1 times the values of
  // the set.
  __device__ void take(long long set) {
    find_members(set);
    const int size = set_columns(members.count());
    const int rows = set_rows<T>(size + job_.columns + job_.parameters);
    matrix = {{memory_, job_, size, rows}, size, rows};
    pad = size - members.count();
    put_values();
    put_covariance();
    matrix.factor(size + job_.columns);
  }

  int pad = 0;  // number of padding rows (of a unit matrix) before the rows of the points
  SetMembers members{};
  SetMatrix<T, Covariance::split> matrix;

 private:
  __device__ T* once() const { return memory_ + job_.memory.once; }

  __device__ void find_members(long long set) {
    const int* numbers = job_.neighbours + set * job_.stride;
    int* kept = reinterpret_cast<int*>(memory_ + job_.memory.members);
    int known = 0;
    __syncthreads();  // waits until all threads have finished the previous set
    for (int first = 0; first < job_.m; first += blockDim.x) {
      const int k = first + threadIdx.x, number = k < job_.m ? numbers[k] : 0;
      if (number > 0) kept[k] = number - 1;
      known += __syncthreads_count(number > 0);
    }
    members = {kept, known, job_.first + set};
  }

  __device__ void put_values() const {
    for (int a = threadIdx.x; a < members.count(); a += blockDim.x)
      for (int c = 0; c < job_.columns; ++c)
        matrix.element(matrix.size + c, pad + a) = job_.values[c * job_.n + members[a]];
    for (int a = threadIdx.x; a < matrix.size + job_.columns; a += blockDim.x)
      for (int b = 0; b < pad && b <= a; ++b) matrix.element(a, b) = a == b;
  }

  __device__ T noise(long long point) const {
    const T known = job_.noise ? job_.noise[point] : T(0);
    return job_.slopes_of_noise == 0 ? known : fma(job_.slopes_of_noise, job_.noise_slope[point], known);
  }

  __device__ void put_covariance() const {
    each_pair<Covariance, false>(
        job_, members, once(), memory_ + job_.memory.columns,
        [&](int a, int b, const Vec<T, 1>& value) {
          const int low = a < b ? a : b, high = a < b ? b : a;
          matrix.element(pad + high, pad + low) =
              a == b ? fma(job_.diagonal, value.v[0], noise(members[a])) : value.v[0];
        },
        [](int) {});
  }

  const DeviceSetJob<T>& job_;
  T* const memory_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
