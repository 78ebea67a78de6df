// Solves linear systems with a posterior precision by conjugate gradients, for one column or for several columns
// together.
#include <algorithm>
#include <cmath>

#include "neighbours/lanes.h"
#include "neighbours/posterior.h"

namespace kernops::neighbours {

namespace {

template <class Number> Number dot(const std::vector<Number>& a, const std::vector<Number>& b) {
  Number sum = constant<Number>(0);
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Stores the number of steps for each lane whose residual has become small enough, or for which no step is left;
// returns whether all lanes have ended.
template <class Number> bool end_lanes(Number size, Number enough, int step, int most, int* steps) {
  bool ended = true;
  for (int lane = 0; lane < width<Number>; ++lane) {
    if (steps[lane] < 0 && (lanes_of(size)[lane] <= lanes_of(enough)[lane] || step == most)) steps[lane] = step;
    ended = ended && steps[lane] >= 0;
  }
  return ended;
}

// Sets x to 0 in the lanes that have ended.
template <class Number> Number of_open_lanes(Number x, const int* steps) {
  for (int lane = 0; lane < width<Number>; ++lane)
    if (steps[lane] >= 0) lanes_of(x)[lane] = 0;
  return x;
}

// Adds the coefficients of the lanes that have not ended to their runs.
template <class Number>
void record(Number x, const int* steps, LanczosRun* runs, std::vector<double> LanczosRun::*coefficients) {
  for (int lane = 0; runs && lane < width<Number>; ++lane)
    if (steps[lane] < 0) (runs[lane].*coefficients).push_back(lanes_of(x)[lane]);
}

// Converts several columns of n numbers to lanes; the next function converts lanes to columns.
std::vector<Lanes> to_lanes(const double* x, Count n, Count columns) {
  std::vector<Lanes> to(size_t(n), Lanes::Zero());
  for (Count c = 0; c < columns; ++c)
    for (Count i = 0; i < n; ++i) to[size_t(i)][c] = x[c * n + i];
  return to;
}

void from_lanes(const std::vector<Lanes>& from, Count columns, double* x) {
  const Count n = Count(from.size());
  for (Count c = 0; c < columns; ++c)
    for (Count i = 0; i < n; ++i) x[c * n + i] = from[size_t(i)][c];
}

// Converts the columns x to lanes, calls apply(from, to), and stores the results in the columns y.
template <class Apply> void in_lanes(const double* x, double* y, Count n, Count columns, const Apply& apply) {
  if (columns == 1) return apply(x, y);
  const std::vector<Lanes> from = to_lanes(x, n, columns);
  std::vector<Lanes> to(size_t(n), Lanes::Zero());
  apply(from.data(), to.data());
  from_lanes(to, columns, y);
}

}  // namespace

// Conjugate gradients. A lane does not change after its residual has become small enough, so that the result of a
// column does not depend on the other lanes.
template <class Number>
void Posterior::iterate(const double* diagonal, const Number* b, Number* x, double tol, int most,
                        const Settings& settings, int* steps, LanczosRun* runs) const {
  using std::sqrt;
  const Count n = length();
  std::vector<Number> r(b, b + n), z(size_t(n), constant<Number>(0)), p(z), image(z);
  Number before = constant<Number>(1), ratio = constant<Number>(0);
  const Number enough = tol * sqrt(dot(r, r));
  times(diagonal, x, image.data(), settings);
  for (Count i = 0; i < n; ++i) r[size_t(i)] -= image[size_t(i)];
  std::fill_n(steps, width<Number>, -1);
  for (int step = 0;; ++step) {
    if (end_lanes<Number>(sqrt(dot(r, r)), enough, step, most, steps)) return;
    precondition(r.data(), z.data(), settings);
    const Number now = dot(r, z);
    if (step > 0) ratio = of_open_lanes<Number>(now / before, steps);
    if (step > 0) record(ratio, steps, runs, &LanczosRun::ratio);
    for (Count i = 0; i < n; ++i) p[size_t(i)] = z[size_t(i)] + ratio * p[size_t(i)];
    before = now;
    times(diagonal, p.data(), image.data(), settings);
    Number length = now / dot(p, image);
    for (int lane = 0; lane < width<Number>; ++lane)
      if (steps[lane] < 0 && !std::isfinite(lanes_of(length)[lane])) steps[lane] = most;
    if (width<Number> == 1 && *steps >= 0) return;
    length = of_open_lanes<Number>(length, steps);
    record(length, steps, runs, &LanczosRun::step);
    for (Count i = 0; i < n; ++i) x[i] += length * p[size_t(i)], r[size_t(i)] -= length * image[size_t(i)];
  }
}

int Posterior::solve(const double* diagonal, const double* b, double* x, double tol, int most, const Settings& settings,
                     LanczosRun* run) const {
  int steps = 0;
  iterate(diagonal, b, x, tol, most, settings, &steps, run);
  return steps;
}

void Posterior::solve_columns(const double* diagonal, const double* b, double* x, Count columns, double tol, int most,
                              const Settings& settings, int* steps, LanczosRun* runs) const {
  const Count n = length();
  if (columns == 1) {
    *steps = solve(diagonal, b, x, tol, most, settings, runs);
    return;
  }
  const std::vector<Lanes> right = to_lanes(b, n, columns);
  std::vector<Lanes> solution = to_lanes(x, n, columns);
  int taken[lanes];
  iterate(diagonal, right.data(), solution.data(), tol, most, settings, taken, runs);
  std::copy_n(taken, columns, steps);
  from_lanes(solution, columns, x);
}

void Posterior::multiply(const double* diagonal, const double* x, double* y, Count columns,
                         const Settings& settings) const {
  in_lanes(x, y, length(), columns, [&](const auto* from, auto* to) { times(diagonal, from, to, settings); });
}

void Posterior::solve_by_factor(const double* b, double* x, Count columns, const Settings& settings) const {
  in_lanes(b, x, length(), columns, [&](const auto* from, auto* to) { precondition(from, to, settings); });
}

}  // namespace kernops::neighbours
