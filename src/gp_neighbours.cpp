// Orderings and nearest neighbours of points for R: positions from 1, n x d coordinates that R has checked.
#include <cmath>

#include "border.h"
#include "neighbours/neighbours.h"
#include "watch.h"

using namespace kernops;

namespace {

// A power of two by which the coordinates are multiplied, so that no squared distance is infinite and few are 0.
double unit(const Rcpp::NumericMatrix& u) {
  double largest = 0;
  for (const double x : u) largest = std::max(largest, std::abs(x));
  return largest > 0 ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1;
}

neighbours::Points points_of(const Rcpp::NumericMatrix& u, double unit) {
  neighbours::Points points{std::vector<double>(size_t(u.size())), u.nrow(), u.ncol()};
  for (Count k = 0; k < points.d; ++k)
    for (Count i = 0; i < points.n; ++i) points.at[size_t(i * points.d + k)] = unit * u[k * points.n + i];
  return points;
}

Rcpp::IntegerMatrix positions(int rows, Count columns) {
  return allocate(bytes_of(INTSXP, double(rows) * double(columns)),
                  [&] { return Rf_allocMatrix(INTSXP, rows, int(columns)); });
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector points_maxmin(Rcpp::NumericMatrix u, int threads) {
  return guard([&] {
    const std::vector<int> order = neighbours::maxmin_order(points_of(u, unit(u)), settings_for("", threads));
    Rcpp::IntegerVector rows = new_integers(double(order.size()));
    for (size_t i = 0; i < order.size(); ++i) rows[R_xlen_t(i)] = order[i] + 1;
    return rows;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_earlier(Rcpp::NumericMatrix u, int m, int threads) {
  return guard([&] {
    Rcpp::IntegerMatrix found = positions(m, u.nrow());
    neighbours::earlier_neighbours(points_of(u, unit(u)), m, settings_for("", threads), found.begin());
    return found;
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_nearest(Rcpp::NumericMatrix query, Rcpp::NumericMatrix u, int m, int threads) {
  return guard([&] {
    Rcpp::IntegerMatrix found = positions(m, query.nrow());
    const double common = std::min(unit(query), unit(u));
    neighbours::nearest_points(points_of(query, common), points_of(u, common), m, settings_for("", threads),
                               found.begin());
    return found;
  });
}
