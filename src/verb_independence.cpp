// Sums of products of distances on two lines in time n log n (Huo and Szekely 2016), for R/verb_independence.R.
#include <utility>
#include <vector>

#include "border.h"
#include "run/parallel_for.h"
#include "settings.h"

using namespace kernops;

namespace {

struct PlanePoint {
  double x, y;
};

// The sum of (b.x - a.x) (b.y - a.y) over the pairs of a point a and a later point b with a.y <= b.y, by a merge sort
// by y. When two sorted runs are merged, the points of the first run that precede b are known by their sums.
double sum_of_rising_pairs(std::vector<PlanePoint>& points, std::vector<PlanePoint>& merged) {
  const size_t n = points.size();
  double total = 0;
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t first = 0; first < n; first += 2 * run) {
      const size_t middle = std::min(first + run, n), end = std::min(middle + run, n);
      double count = 0, x = 0, y = 0, xy = 0;
      for (size_t a = first, b = middle, to = first; to < end; ++to) {
        if (b == end || (a < middle && points[a].y <= points[b].y)) {
          const PlanePoint p = points[a++];
          count += 1, x += p.x, y += p.y, xy += p.x * p.y;
          merged[to] = p;
        } else {
          const PlanePoint p = points[b++];
          total += p.x * (p.y * count - y) - p.y * x + xy;
          merged[to] = p;
        }
      }
    }
    points.swap(merged);
  }
  return total;
}

}  // namespace

// The sum of |x_i - x_j| |y_i - y_j| over all ordered pairs, for each column of `y`. The numbers `x` are ascending.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector line_products(Rcpp::NumericVector x, Rcpp::NumericMatrix y, int threads) {
  return guard_new([&] {
    const Count n = x.size(), columns = y.ncol();
    const double *const xs = x.begin(), *const ys = y.begin();
    Rcpp::NumericVector sums = new_numbers(double(columns));
    double* const to = sums.begin();
    const Settings settings = with_threads(threads);
    parallel_for(columns, std::min<Count>(settings.threads, columns), settings, [&](Count column, Count) {
      std::vector<PlanePoint> points, merged(static_cast<size_t>(n));
      points.reserve(size_t(n));
      double x_sum = 0, y_sum = 0, products = 0;
      for (Count i = 0; i < n; ++i) {
        const PlanePoint p{xs[i], ys[column * n + i]};
        x_sum += p.x, y_sum += p.y, products += p.x * p.y;
        points.push_back(p);
      }
      // falling pairs are all pairs but the rising pairs, with the other sign
      to[column] = 4 * sum_of_rising_pairs(points, merged) - 2 * (double(n) * products - x_sum * y_sum);
    });
    return sums;
  });
}
