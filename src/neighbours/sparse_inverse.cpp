#include "neighbours/sparse_inverse.h"

#include <algorithm>
#include <stdexcept>

#include "run/rows.h"

namespace kernops::neighbours {

namespace {

constexpr Count unit = 2048;

// Checks a position whenever it is read, because users supply the arrays.
Count checked(double position, Count limit) {
  if (!(position >= 0 && position < double(limit))) throw std::invalid_argument("the preconditioner is damaged");
  return Count(position);
}

}  // namespace

void SparseInverse::check() const {
  Count last = 0;
  for (Count row = 0; row < n; ++row) {
    checked(order[row] - 1.0, n), checked(start[row + 1] - double(last), n * m + 1 - last);
    last = checked(start[row + 1], n * m + 1);
  }
  checked(start[0], 1);
  for (Count k = 0; k < n * m; ++k)
    if (neighbours[k] != 0) checked(neighbours[k] - 1.0, n);
  for (Count k = 0; k < last; ++k) checked(entry[k], n * m);
}

// Reorders the points, and stores the p numbers of a point next to each other, because neighbours are scattered in
// memory.
void SparseInverse::apply(const double* x, int p, double* result, const Settings& settings) const {
  std::vector<double> ordered(size_t(n * p)), whitened(size_t(n * p));
  each_row(n, unit, settings, [&](Count row, Count) {
    const Count at = checked(order[row] - 1.0, n);
    for (int c = 0; c < p; ++c) ordered[size_t(row * p + c)] = x[at + c * n];
  });
  each_row(n, unit, settings, [&](Count row, Count) { forward(row, ordered.data(), p, whitened.data() + row * p); });
  each_row(n, unit, settings, [&](Count row, Count) { back(row, whitened.data(), p, ordered.data() + row * p); });
  each_row(n, unit, settings, [&](Count row, Count) {
    for (int c = 0; c < p; ++c) result[order[row] - 1 + c * n] = ordered[size_t(row * p + c)];
  });
}

// Computes row `row` of D^-2 (I - B) x, where U = D^-1 (I - B).
void SparseInverse::forward(Count row, const double* x, int p, double* to) const {
  std::copy_n(x + row * p, p, to);
  for (Count k = row * m; k < (row + 1) * m; ++k) {
    if (neighbours[k] == 0) continue;
    const double* const from = x + checked(neighbours[k] - 1.0, n) * p;
    for (int c = 0; c < p; ++c) to[c] -= weights[k] * from[c];
  }
  for (int c = 0; c < p; ++c) to[c] /= sd[row] * sd[row];
}

// Computes row `row` of (I - B)' x, where U = D^-1 (I - B).
void SparseInverse::back(Count row, const double* x, int p, double* to) const {
  std::copy_n(x + row * p, p, to);
  const Count last = checked(start[row + 1], n * m + 1);
  for (Count k = checked(start[row], last + 1); k < last; ++k) {
    const Count at = checked(entry[k], n * m);
    const double* const from = x + at / m * p;
    for (int c = 0; c < p; ++c) to[c] -= weights[at] * from[c];
  }
}

// Finds the entries of each column of U by a counting sort.
void find_columns(const int* neighbours, Count n, int m, double* start, int* entry) {
  std::fill_n(start, n + 1, 0.0);
  for (Count k = 0; k < n * m; ++k)
    if (neighbours[k] > 0) ++start[neighbours[k]];
  for (Count i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<Count> next(start, start + n);
  for (Count k = 0; k < n * m; ++k)
    if (neighbours[k] > 0) entry[next[size_t(neighbours[k] - 1)]++] = int(k);
}

}  // namespace kernops::neighbours
