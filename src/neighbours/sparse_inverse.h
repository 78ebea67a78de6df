// A sparse approximate inverse U' U of a covariance matrix. Row i of U has the entry 1 / sd at point i, and the entries
// -weight / sd at its neighbours, which are earlier points.
#pragma once
#include <vector>

#include "run/backend.h"

namespace kernops::neighbours {

struct SparseInverse {
  Count n;
  int m;
  const double *weights, *sd;  // m weights and one standard deviation per point
  const int* neighbours;       // m neighbours per point, from 1; 0 for none
  const int* order;            // point i is in row order[i], from 1
  // The columns of U: elements start[i] .. start[i + 1] - 1 of `entry` are the positions in `neighbours` that contain
  // point i.
  const double* start;
  const int* entry;

  void check() const;  // throws if an index is out of range, because users supply the arrays
  // Computes U' U x for an n x p matrix x.
  void apply(const double* x, int p, double* result, const Settings& settings) const;

 private:
  void forward(Count row, const double* x, int p, double* to) const;
  void back(Count row, const double* x, int p, double* to) const;
};

// Computes `start` and `entry` from `neighbours`.
void find_columns(const int* neighbours, Count n, int m, double* start, int* entry);

}  // namespace kernops::neighbours
