// Sets of points (jobs/sets.h) for the kernels of cuda/sets: a block processes one set at a time.
#pragma once
#include <kernops/portable.h>

namespace kernops {

// The matrix of a set, and below it rows of right-hand sides (cuda/sets/matrix.cuh): whole panels of 4 columns, and a
// number of rows that is twice an odd one for doubles, a multiple of 4 for floats.
KERNOPS_FN int set_columns(int points) { return (points + 3) / 4 * 4; }
template <class T> KERNOPS_FN int set_rows(int used) { return used + ((sizeof(T) == 4 ? 4 : 6) - used % 4) % 4; }
KERNOPS_FN int set_numbers(int columns, int rows) { return columns * rows - columns * (columns - 4) / 2; }

// The shared memory of a block: offsets in numbers of type T, multiples of 16 bytes. The first `far` panels of a matrix
// that exceeds shared memory are in device memory.
struct SetMemory {
  int once, columns, contrast, dots, sums, members, end, far;
};

// T is the type of the computation of sets. Sums over them are doubles.
template <class T> struct DeviceSetJob {
  const T *theta, *points, *noise, *noise_slope, *values;  // columns of n numbers; null for 0
  T slopes_of_noise;                                       // multiple of noise_slope that is added to the noise
  T diagonal;                                              // factor of the formula's variances
  const int* neighbours;                                   // `stride` neighbours of each set, nearest first, from 1
  long long n, first, sets;                                // set s is that of point first + s
  int m, stride, columns, parameters, nugget;              // the number of nearest neighbours that are used
  int chunk, blocks, first_block;                          // sets per block; blocks in total, and of earlier launches
  SetMemory memory;
  T* panels;  // panels in device memory, `far_numbers` for each block of a launch
  long long far_numbers;
  double *parts, *totals;  // each sum: for all blocks, and in total
  int* bad;                // the first singular set of each block, or -1
  double *weights, *sd;    // like those of SetJob

  KERNOPS_FN int products() const { return columns * (columns + 1) / 2; }
  KERNOPS_FN int sums() const { return (1 + products()) * (1 + parameters) + parameters * (parameters + 1) / 2; }
};

constexpr int set_total_threads = 256;

}  // namespace kernops
