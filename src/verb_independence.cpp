// Sums of products of distances for R/verb_independence.R: of points on a line, in time n log n (Huo and Szekely 2016),
// and of a stored matrix with permutations of another one.
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

// The sum of (b.x - a.x) (b.y - a.y) over all pairs of a point a and a later point b with a.y <= b.y, by a merge sort
// by y. When two sorted runs are merged, `count`, `x`, `y` and `xy` are sums over the points a of the first run that
// come before the next point b in the merged order.
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

// For each column of `y`, the sum of |x_i - x_j| |y_i - y_j| over all ordered pairs. `x` must be ascending.
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
      // |product| is the product for rising pairs (y increases with x), and minus the product for all other pairs
      to[column] = 4 * sum_of_rising_pairs(points, merged) - 2 * (double(n) * products - x_sum * y_sum);
    });
    return sums;
  });
}

// For each permutation, a column of `orders`, the sum of a_ij b_kl over all ordered pairs i, j, where k and l are the
// elements i and j of the permutation. Both matrices are symmetric. `a` has some columns of a larger matrix, from
// column `first` on, counted from 0; only entries on and below the diagonal are read.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector permuted_products(Rcpp::NumericMatrix a, Rcpp::NumericMatrix b, Rcpp::IntegerMatrix orders,
                                      double first, int threads) {
  return guard_new([&] {
    const Count n = a.nrow(), columns = a.ncol(), begin = Count(first), count = orders.ncol();
    const double *const as = a.begin(), *const bs = b.begin();
    const int* const all = orders.begin();
    Rcpp::NumericVector sums = new_numbers(double(count));
    double* const to = sums.begin();
    const Settings settings = with_threads(threads);
    parallel_for(count, std::min<Count>(settings.threads, count), settings, [&](Count permutation, Count) {
      const int* const order = all + permutation * n;
      double total = 0;
      for (Count column = 0; column < columns; ++column) {
        const Count j = begin + column;
        const double *const from = as + column * n, *const row = bs + Count(order[j] - 1) * n - 1;
        // four partial sums, so that an addition need not wait for the previous one
        double sum[4] = {};
        Count i = j + 1;
        for (; i + 4 <= n; i += 4)
          for (Count e = 0; e < 4; ++e) sum[e] += from[i + e] * row[order[i + e]];
        for (; i < n; ++i) sum[0] += from[i] * row[order[i]];
        total += 2 * (sum[0] + sum[1] + (sum[2] + sum[3])) + from[j] * row[order[j]];
      }
      to[permutation] = total;
    });
    return sums;
  });
}
