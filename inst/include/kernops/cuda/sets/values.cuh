// The points of a set (a point and its neighbours), and the values of a formula for all pairs of these points.
//
// A formula F is generated text. F has a function for each of the four levels: it computes values once for the whole
// computation, for a point as a row, for a point as a column, or for a pair. F also has a constant for each level: the
// number of entries of the level.
#pragma once
#include <kernops/jobs/device_sets.h>
#include <kernops/state.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

// Generated text calls keep() to store results in the entries of `place` from `offset` on.
template <int offset, class T, int size, int N> KERNOPS_FN void keep(const Vec<T, size>& some, Vec<T, N>& place) {
  KERNOPS_EACH_FEW(k, size) place.v[offset + k] = some.v[k];
}
template <int offset, int size, class T, int N> KERNOPS_FN void load(const T* from, long long step, Vec<T, N>& place) {
  KERNOPS_EACH_FEW(k, size) place.v[offset + k] = from[k * step];
}

// The points of a set, in the order of the rows of the set's matrix: first the neighbours, from the farthest to the
// nearest, and then the point itself.
struct SetMembers {
  const int* neighbours;  // counted from 0
  int known;              // number of neighbours
  long long own;
  KERNOPS_FN int count() const { return known + 1; }
  KERNOPS_FN long long operator[](int a) const { return a == known ? own : neighbours[known - 1 - a]; }
};

// Calls take(a, b, values) once for each pair of points a and b. The points are arranged in a circle, and the thread of
// row a visits the points in the half circle after a, so that all threads do equal work. A covariance is symmetric, so
// either point of a pair may be the row. If `in_turn` is true, barriers ensure that two threads never visit the same
// point b at the same time. After the last pair of row a, end(a) is called, and then the block is synchronised.
template <class F, bool in_turn, class T, class Take, class End>
__device__ void each_pair(const DeviceSetJob<T>& job, const SetMembers& members, const T* once, T* columns,
                          const Take& take, const End& end) {
  const auto& o = *reinterpret_cast<const Vec<T, F::once>*>(once);
  const int n = members.count(), size = job.m + 1;
  for (int b = threadIdx.x; b < n; b += blockDim.x) {
    Vec<T, F::column> y;
    F::run_column(o, job.points + members[b], job.n, y);
    KERNOPS_EACH_FEW(k, F::column) columns[k * size + b] = y.v[k];
  }
  __syncthreads();
  for (int first = 0; first < n; first += blockDim.x) {
    const int a = first + threadIdx.x;
    Vec<T, F::row> x;
    if (a < n) F::run_row(o, job.points + members[a], job.n, x);
    for (int apart = 0; 2 * apart <= n; ++apart) {
      const int b = a + apart < n ? a + apart : a + apart - n;
      if (a < n && (2 * apart < n || a < b)) {
        Vec<T, F::column> y;
        KERNOPS_EACH_FEW(k, F::column) y.v[k] = columns[k * size + b];
        take(a, b, F::pair(o, x, y));
      }
      if (in_turn) __syncthreads();
    }
    if (a < n) end(a);
    __syncthreads();
  }
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
