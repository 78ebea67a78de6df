// Orderings and nearest neighbours of points for R: positions from 1, n x d coordinates that R has checked.
#include <cmath>

#include "border.h"
#include "neighbours/neighbours.h"
#include "settings.h"

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
  return guard_new([&] {
    const std::vector<int> order = neighbours::maxmin_order(points_of(u, unit(u)), with_threads(threads));
    Rcpp::IntegerVector rows = new_integers(double(order.size()));
    for (size_t i = 0; i < order.size(); ++i) rows[R_xlen_t(i)] = order[i] + 1;
    return rows;
  });
}

// The earlier neighbours of all points, or of the points `some`, numbered from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_earlier(Rcpp::NumericMatrix u, int m, Rcpp::Nullable<Rcpp::IntegerVector> some,
                                   int threads) {
  return guard_new([&] {
    const Rcpp::IntegerVector chosen(some.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(some));
    for (const int row : chosen)
      if (row < 1 || row > u.nrow()) throw InputError("input", "points are chosen by their numbers");
    Rcpp::IntegerMatrix found = positions(m, some.isNull() ? u.nrow() : chosen.size());
    const neighbours::Points points = points_of(u, unit(u));
    const neighbours::SearchTree tree(points, with_threads(threads));
    if (some.isNull())
      tree.earlier(m, with_threads(threads), found.begin());
    else
      tree.earlier(points, chosen.begin(), chosen.size(), m, with_threads(threads), found.begin());
    return found;
  });
}

namespace {

// The points that R keeps between searches.
struct HeldPoints {
  double unit;
  neighbours::SearchTree tree;
  Rcpp::NumericMatrix u;
};

HeldPoints held(const Rcpp::NumericMatrix& u, double unit, int threads) {
  return {unit, neighbours::SearchTree(points_of(u, unit), with_threads(threads)), u};
}

}  // namespace

// [[Rcpp::export(rng = false)]]
SEXP points_hold(Rcpp::NumericMatrix u, int threads) {
  return guard_new([&]() -> SEXP {
    const double bytes = 20.0 * double(u.size());  // of the tree: coordinates, boxes and rows
    return external_pointer(std::make_unique<HeldPoints>(held(u, unit(u), threads)), bytes);
  });
}

// Among the rows of u, a matrix or what points_hold() returned.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_nearest(Rcpp::NumericMatrix query, SEXP u, int m, int threads) {
  return guard_new([&] {
    Rcpp::IntegerMatrix found = positions(m, query.nrow());
    const double own = unit(query);
    const auto search = [&](const HeldPoints& points) {
      points.tree.nearest(points_of(query, points.unit), m, with_threads(threads), found.begin());
    };
    if (TYPEOF(u) != EXTPTRSXP) {
      const Rcpp::NumericMatrix all(u);
      search(held(all, std::min(own, unit(all)), threads));
    } else {
      const Rcpp::XPtr<HeldPoints> points(u);
      // squared distances to points that are so far away would be infinite
      if (own < std::ldexp(points->unit, -400))
        search(held(points->u, own, threads));
      else
        search(*points);
    }
    return found;
  });
}
