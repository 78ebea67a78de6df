// The arguments of the kernels of cuda/sets, for sets of points (jobs/sets.h). A block processes one set at a time.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The functions return the numbers of columns, rows and stored elements of a set's matrix (cuda/sets/matrix.cuh). The
// rows include the right-hand sides below the matrix. The number of columns is a multiple of 4, the width of a panel.
// The number of rows is twice an odd number for doubles, and a multiple of 4 for floats.
KERNOPS_FN int set_columns(int points) { return (points + 3) / 4 * 4; }
template <class T> KERNOPS_FN int set_rows(int used) { return used + ((sizeof(T) == 4 ? 4 : 6) - used % 4) % 4; }
KERNOPS_FN int set_numbers(int columns, int rows) { return columns * rows - columns * (columns - 4) / 2; }

// The layout of the shared memory of a block. Offsets are counted in numbers of type T, and are multiples of 16 bytes.
// If a matrix exceeds shared memory, its first `far` panels (of 4 columns) are in device memory.
struct SetMemory {
  int once, columns, contrast, dots, sums, members, end, far;
};

// T is the number type of computations within a set. Sums over sets are doubles.
template <class T> struct DeviceSetJob {
  const T *theta, *points, *noise, *noise_slope, *values;  // columns of n numbers; null: zeros
  T slopes_of_noise;                                       // multiple of noise_slope that is added to the noise
  T diagonal;                                              // factor of the diagonal of the covariance
  const int* neighbours;                                   // `stride` neighbours for each set, nearest first, from 1
  long long n, first, sets;                                // set s belongs to point first + s
  int m, stride, columns, parameters, nugget;              // m: number of nearest neighbours to use
  // chunk: sets per block; blocks: blocks of all launches; first_block: number of blocks of earlier launches
  int chunk, blocks, first_block;
  SetMemory memory;
  T* panels;  // panels in device memory: `far_numbers` numbers for each block of a launch
  long long far_numbers;
  double *parts, *totals;  // parts: the sums of each block over its sets; totals: the sums over all sets
  int* bad;                // the first singular set of each block, or -1
  double *weights, *sd;    // results, as in SetJob

  KERNOPS_FN int products() const { return columns * (columns + 1) / 2; }
  KERNOPS_FN int sums() const { return (1 + products()) * (1 + parameters) + parameters * (parameters + 1) / 2; }
};

constexpr int set_total_threads = 256;

}  // namespace kernops
