// The derivative of the last row u of L^-1 with respect to the covariance of a set (a point and its neighbours), as in
// cpu/sets/changes.h. L is the Cholesky factor of the covariance matrix.
#pragma once
#include <kernops/cuda/sets/set.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

struct NoSlopes {
  static constexpr int size = 0;
};

template <class T, class Covariance, class Slopes> class DeviceSetChanges {
 public:
  T* const u;

  __device__ DeviceSetChanges(const DeviceSetJob<T>& job, T* memory, const DeviceSet<T, Covariance>& set)
      : u(memory + job.memory.contrast), job_(job), memory_(memory), set_(set) {
    if constexpr (Slopes::size > 0)
      if (threadIdx.x == 0) Slopes::run_once(job.theta, *reinterpret_cast<typename Slopes::Once*>(once()));
  }

  // Row row(p) of the matrix holds L^-1 dK u for parameter p; solve() computes these rows. dK is the derivative of the
  // covariance matrix. Before the call of solve(), u must be the contrast of the set (SetMatrix::contrast()); solve()
  // replaces u by the last row of L^-1.
  __device__ int row(int p) const { return set_.matrix.size + job_.columns + p; }
  __device__ void solve() const {
    put();
    set_.matrix.solve(row(0), row(Slopes::size));
    __syncthreads();
  }

 private:
  __device__ T* once() const { return memory_ + job_.memory.once + Covariance::once; }
  __device__ T& changed(int p, int k) const { return set_.matrix.element(row(p), k); }

  __device__ void put() const {
    const int pad = set_.pad;
    const double inverse = set_.matrix.inverse_sd();
    for (int k = threadIdx.x; k < set_.matrix.size; k += blockDim.x) {
      u[k] *= inverse;
      for (int p = 0; p < Slopes::size; ++p)
        changed(p, k) = p == job_.nugget && k >= pad ? job_.noise_slope[set_.members[k - pad]] * u[k] : T(0);
    }
    T own[Slopes::size] = {};
    each_pair<Slopes, true>(
        job_, set_.members, once(), memory_ + job_.memory.columns,
        [&](int a, int b, const Vec<T, Slopes::size>& slopes) {
          const T ub = a == b ? job_.diagonal * u[pad + b] : u[pad + b];
          KERNOPS_EACH_FEW(p, Slopes::size) {
            own[p] = fma(slopes.v[p], ub, own[p]);
            if (a != b) changed(p, pad + b) = fma(slopes.v[p], u[pad + a], changed(p, pad + b));
          }
        },
        [&](int a) {
          KERNOPS_EACH_FEW(p, Slopes::size) changed(p, pad + a) += own[p], own[p] = 0;
        });
  }

  const DeviceSetJob<T>& job_;
  T* const memory_;
  const DeviceSet<T, Covariance>& set_;
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
