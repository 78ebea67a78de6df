// Interpolates the values of a periodic grid at points, with one thread for each point. Adjacent threads have points of
// the same tile, so most reads of the grid are served by the L1 cache.
#pragma once
#include <kernops/cuda/fourier/window.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

constexpr int most_width = 16;

template <int D> class PointSum {
 public:
  __device__ __forceinline__ PointSum(const InterpolateJob& job, int point, const double* pieces) : job_(job) {
    KERNOPS_EACH(a, D) {
      const PointWindow window(job.grid, job.points.position[(long long)point * D + a], job.grid.size[a]);
      first_[a] = window.first;
      for (int j = 0; j < job.grid.width; ++j) values_[a][j] = window.value(job.grid, pieces, j);
    }
  }

  __device__ __forceinline__ double run() const {
    if (D == 1) return along_row(job_.cells);
    double sum = 0;
    for (int k = 0; k < (D == 3 ? job_.grid.width : 1); ++k) {
      const double weight = D == 3 ? values_[D - 1][k] : 1;
      const long long plane = D == 3 ? (long long)cell(D - 1, k) * job_.grid.size[1] : 0;
      for (int j = 0; j < job_.grid.width; ++j) {
        const long long row = plane + cell(1 % D, j);
        sum += weight * values_[1 % D][j] * along_row(job_.cells + row * job_.grid.size[0]);
      }
    }
    return sum;
  }

 private:
  __device__ __forceinline__ int cell(int a, int j) const { return wrapped_cell(first_[a] + j, job_.grid.size[a]); }
  __device__ __forceinline__ double along_row(const double* row) const {
    double sum = 0;
    for (int i = 0; i < job_.grid.width; ++i) sum += values_[0][i] * __ldg(row + cell(0, i));
    return sum;
  }

  const InterpolateJob& job_;
  int first_[D];
  double values_[D][most_width];
};

template <int D> __device__ void interpolate_points(const InterpolateJob& job) {
  __shared__ double pieces[most_coefficients];
  load_pieces(job.grid, pieces);
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point < job.points.count) job.values[job.points.row[point]] = PointSum<D>(job, point, pieces).run();
}

}  // namespace KERNOPS_ISA
}  // namespace kernops
