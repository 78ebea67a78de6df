// The Cholesky factor of a small matrix in shared memory, which a block computes with one thread per row and four
// columns (a panel) at a time. If the matrix does not fit into shared memory, the first panels are in device memory.
#pragma once
#include <kernops/jobs/device_sets.h>
#include <kernops/cuda/values.cuh>

namespace kernops {
inline namespace KERNOPS_ISA {

#ifdef __CUDA_ARCH__
KERNOPS_FN double inverse_root(double x) { return ::rsqrt(x); }
KERNOPS_FN float inverse_root(float x) { return ::rsqrtf(x); }
#else
template <class T> KERNOPS_FN T inverse_root(T x) { return 1 / sqrt(x); }
#endif

// Loads four numbers from shared memory, 16 bytes at a time.
KERNOPS_FN void load_four(const double* from, double (&x)[4]) {
  const double2* pairs = reinterpret_cast<const double2*>(from);
  const double2 low = pairs[0], high = pairs[1];
  x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
}
KERNOPS_FN void load_four(const float* from, float (&x)[4]) {
  const float4 all = *reinterpret_cast<const float4*>(from);
  x[0] = all.x, x[1] = all.y, x[2] = all.z, x[3] = all.w;
}

// A 4 x 4 diagonal block of a Cholesky factor, which stores the inverses of the diagonal entries.
template <class T> struct SetCorner {
  T at[4][4];

  // Factors the diagonal block. The entries of the factor become NaN if the block is not positive definite.
  KERNOPS_FN void factor() {
    KERNOPS_EACH(c, 4) {
      KERNOPS_UNROLL
      for (int r = c; r < 4; ++r) {
        KERNOPS_EACH(k, c) at[r][c] = fma(-at[r][k], at[c][k], at[r][c]);
        at[r][c] = r == c ? inverse_root(at[c][c]) : at[r][c] * at[c][c];
      }
    }
  }
  // Replaces x, four entries of a row of a matrix X, by the entries of X L'^-1.
  KERNOPS_FN void divide(T (&x)[4]) const {
    KERNOPS_EACH(c, 4) {
      KERNOPS_EACH(k, c) x[c] = fma(-at[c][k], x[k], x[c]);
      x[c] *= at[c][c];
    }
  }
  // Replaces x, four entries of a row of a matrix X, by the entries of X L^-1.
  KERNOPS_FN void divide_transposed(T (&x)[4]) const {
    KERNOPS_UNROLL
    for (int c = 3; c >= 0; --c) {
      KERNOPS_UNROLL
      for (int k = c + 1; k < 4; ++k) x[c] = fma(-at[k][c], x[k], x[c]);
      x[c] *= at[c][c];
    }
  }
};

// The layout of the lower triangle of a matrix, and of right-hand sides, which are rows below the triangle. The number
// of columns, `size`, is a multiple of 4. Panel j contains columns 4j .. 4j + 3 from row 4j on, column by column. All
// columns begin at multiples of 16 bytes, so that a thread reads 16 bytes at once. For doubles, half the number of rows
// is odd: threads that read the same row of different columns then have no bank conflicts.
template <class T, bool split> struct SetPanels {
  T* near;
  KERNOPS_FN SetPanels(T* shared, const DeviceSetJob<T>&, int, int) : near(shared) {}
  KERNOPS_FN T* of(int) const { return near; }
};
template <class T> struct SetPanels<T, true> {
  T *near, *far;
  int count;  // number of panels in device memory
  KERNOPS_FN SetPanels(T* shared, const DeviceSetJob<T>& job, int columns, int rows)
      : near(nullptr), far(job.panels + blockIdx.x * job.far_numbers), count(job.memory.far) {
    if (4 * count > columns) count = columns / 4;
    near = shared - set_numbers(4 * count, rows);
  }
  KERNOPS_FN T* of(int j) const { return j < count ? far : near; }
};

template <class T, bool split> struct SetMatrix {
  SetPanels<T, split> panels;
  int size, rows;
  KERNOPS_FN int height(int j) const { return rows - 4 * j; }
  KERNOPS_FN T* panel(int j) const { return panels.of(j) + 4 * j * (rows + 1 - 2 * j); }  // address of a virtual row 0
  KERNOPS_FN T* column(int k) const { return panel(k >> 2) + (k & 3) * height(k >> 2); }
  KERNOPS_FN T& element(int a, int k) const { return column(k)[a]; }

  KERNOPS_FN void load(int j, int a, T (&x)[4]) const {
    KERNOPS_EACH(c, 4) x[c] = panel(j)[c * height(j) + a];
  }
  KERNOPS_FN void store(int j, int a, const T (&x)[4]) const {
    KERNOPS_EACH(c, 4) panel(j)[c * height(j) + a] = x[c];
  }
  // Loads rows 4j .. 4j + 3 of a column that belongs to an earlier panel than j.
  KERNOPS_FN static void load_rows(const T* column, int j, T (&x)[4]) { load_four(column + 4 * j, x); }
  KERNOPS_FN SetCorner<T> corner(int j) const {
    SetCorner<T> some;
    KERNOPS_EACH(c, 4) {
      KERNOPS_UNROLL
      for (int r = c; r < 4; ++r) some.at[r][c] = panel(j)[c * height(j) + 4 * j + r];
    }
    return some;
  }
  KERNOPS_FN void put_corner(int j, const SetCorner<T>& some) const {
    KERNOPS_EACH(c, 4) {
      KERNOPS_UNROLL
      for (int r = c; r < 4; ++r) panel(j)[c * height(j) + 4 * j + r] = some.at[r][c];
    }
  }

  // Computes the four entries of row a in panel j, minus the contributions of earlier panels.
  KERNOPS_FN void reduced(int j, int a, T (&x)[4]) const {
    load(j, a, x);
    for (int i = 0; i < j; ++i) {
      const T* from = panel(i);
      KERNOPS_UNROLL
      for (int k = 0; k < 4; ++k, from += height(i)) {
        T pivots[4];
        load_rows(from, j, pivots);
        KERNOPS_EACH(c, 4) x[c] = fma(-from[a], pivots[c], x[c]);
      }
    }
  }

  // Replaces the matrix K by L, and X by X L'^-1, where X consists of the rows of right-hand sides before row `end`.
  // The first thread writes a diagonal block after all threads have read this block. Other threads read the block again
  // only after the next barrier.
  __device__ void factor(int end) const {
    T x[4];
    for (int j = 0; 4 * j < size; ++j) {
      for (int a = 4 * j + threadIdx.x; a < end; a += blockDim.x) reduced(j, a, x), store(j, a, x);
      __syncthreads();
      SetCorner<T> pivots = corner(j);
      pivots.factor();
      for (int a = 4 * j + 4 + threadIdx.x; a < end; a += blockDim.x) load(j, a, x), pivots.divide(x), store(j, a, x);
      __syncthreads();
      if (threadIdx.x == 0) put_corner(j, pivots);
    }
    __syncthreads();
  }

  // Replaces the right-hand sides in rows `begin` .. `end` - 1 like factor(), which must have computed L. Threads need
  // no barrier.
  __device__ void solve(int begin, int end) const {
    T x[4];
    for (int a = begin + threadIdx.x; a < end; a += blockDim.x)
      for (int j = 0; 4 * j < size; ++j) reduced(j, a, x), corner(j).divide(x), store(j, a, x);
  }

  // Computes the contrast u of the set: the last row of L^-1, divided by the last entry of this row. The entry of u for
  // the point of the set is 1. The entry for a neighbour is minus the weight of the neighbour in the conditional mean
  // of the point.
  __device__ void contrast(T* u) const {
    for (int k = threadIdx.x; k < size; k += blockDim.x) u[k] = k == size - 1;
    solve_transposed(u);
  }

  // Computes L'^-1 u as if the last diagonal entry of L were 1.
  __device__ void solve_transposed(T* u) const {
    for (int j = size / 4 - 1; j >= 0; --j) {
      __syncthreads();
      SetCorner<T> pivots = corner(j);
      if (4 * j + 4 == size) pivots.at[3][3] = 1;
      T x[4], l[4];
      load_rows(u, j, x);
      pivots.divide_transposed(x);
      __syncthreads();
      for (int k = threadIdx.x; k < 4 * j; k += blockDim.x) {
        load_rows(column(k), j, l);
        KERNOPS_EACH(c, 4) u[k] = fma(-l[c], x[c], u[k]);
      }
      if (threadIdx.x == 0)
        for (int c = 0; c < 4; ++c) u[4 * j + c] = x[c];
    }
    __syncthreads();
  }

  KERNOPS_FN T inverse_sd() const { return element(size - 1, size - 1); }

  // Returns sum_{k<last} a_k b_k + a_last b_last / 2 for rows a and b.
  KERNOPS_FN T half_last(int a, int b) const {
    T sum = T(-0.5) * element(a, size - 1) * element(b, size - 1);
    for (int j = 0; 4 * j < size; ++j) {
      KERNOPS_EACH(c, 4) sum = fma(panel(j)[c * height(j) + a], panel(j)[c * height(j) + b], sum);
    }
    return sum;
  }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
