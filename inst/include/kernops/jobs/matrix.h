// The arguments of the kernels for matrices and solvers: plain structs for host and device.
#pragma once

namespace kernops {

// Copies the rows and columns of a matrix with the given positions, which count from 1 (cuda/dense/matrix.cuh).
struct GatherJob {
  const void* from;
  void* out;
  const int *rows, *columns;
  long long from_rows, row_count;
  int column_count;
};

// Converts numbers to another type (cuda/dense/matrix.cuh).
struct ConvertJob {
  const void* from;
  void* to;
  long long count;
};

// Operations on blocks of vectors, which are rows x columns matrices in column-major order (cuda/dense/solve.cuh). If x
// is multiplied by a matrix, x has `inner` columns.
struct VectorJob {
  const double* x;
  double* y;
  const double *a, *b;  // one number per column or row, or a matrix
  double *partials, *sums;
  long long rows;
  int inner, columns, parts;  // parts: number of parts of a column's sum
};

// A product of a sparse inverse U' U (neighbours/sparse_inverse.h) and a block of vectors, an n x columns matrix
// (cuda/dense/sparse.cuh). Rows, neighbours and entries are counted from 0.
struct SparseJob {
  const double* x;
  double *between, *y;  // D^-2 (I - B) x, and the result
  const double *weights, *sd;
  const int* near;         // for each neighbour, its row of x; -1 for none
  const int* row;          // the row of each point
  const long long* start;  // start of the entries of each column of U
  const int* entry;
  long long n;
  int m, columns;
};

// The next pivot of a Cholesky decomposition, and the sum of the remaining diagonal.
struct Pivot {
  long long row;
  double value, total;
};

// Pivoted Cholesky decomposition of a matrix whose columns arrive one by one (cuda/dense/pivoted.cuh).
struct PivotJob {
  static constexpr int most_columns = 4096, most_points = 16;
  double* columns;  // n x rank
  double* left;     // the diagonal that remains after subtraction of the decomposition
  Pivot *partials, *pivots;
  long long n;
  int step, parts, points;
  // `points` matrices with n rows; matrix k has sizes[k] columns, and its row of the pivot is copied to to[k]
  const double* from[most_points];
  double* to[most_points];
  int sizes[most_points];
};

// Operations on the lower triangle of an n x n matrix, and on blocks of its columns (cuda/dense/triangle.cuh). The
// matrix is the upper left part of an `order` x `order` matrix in column-major order.
struct TriangleJob {
  double *at, *block;
  double* out;
  const double *left, *right;  // n x rank
  long long n, order, first;   // first row and column of the block
  int columns, rank;
};

}  // namespace kernops
