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

Rcpp::IntegerMatrix positions_of(int rows, Count columns) {
  return allocate(bytes_of(INTSXP, double(rows) * double(columns)),
                  [&] { return Rf_allocMatrix(INTSXP, rows, int(columns)); });
}

// Points that R holds between searches.
struct StoredPoints {
  StoredPoints(const Rcpp::NumericMatrix& u, double unit, int threads)
      : u(u),
        unit(unit),
        tree(points_of(u, unit), neighbours::leaf_size, with_threads(threads)),
        by_row(tree, nullptr) {}

  // The coordinates of the points at `places`, from 0, of an order of rows, or of rows.
  std::vector<double> coordinates(const std::vector<int>& places, const int* order) const {
    std::vector<double> to;
    to.reserve(places.size() * size_t(u.ncol()));
    for (const int place : places)
      for (int k = 0; k < u.ncol(); ++k) to.push_back(unit * u(order ? order[place] - 1 : place, k));
    return to;
  }

  const Rcpp::NumericMatrix u;
  const double unit;
  const neighbours::KdTree tree;
  const neighbours::Positions by_row;
  std::shared_ptr<BackendCache> kept;
};

StoredPoints& points_in(SEXP stored) { return *Rcpp::XPtr<StoredPoints>(stored); }

// A search takes some hundreds of operations for each point that it finds.
void search(const neighbours::Request& request, int* to) {
  const double work = 300.0 * double(request.count) * request.most;
  choose_backend(request.settings.backend, {MemorySpace::host}, work).nearest(request, to);
}

// Checks that `some` holds numbers of points.
void check_numbers(const Rcpp::IntegerVector& some, Count n) {
  for (const int number : some)
    if (number < 1 || number > n) throw InputError("input", "points are chosen by their numbers");
}

}  // namespace

// The points with a tree of them, for points_maxmin(), points_earlier() and points_nearest().
// [[Rcpp::export(rng = false)]]
SEXP points_hold(Rcpp::NumericMatrix u, int threads) {
  return guard_new([&]() -> SEXP {
    const double bytes = 20.0 * double(u.size());  // of the tree: coordinates, boxes and rows
    return external_pointer(std::make_unique<StoredPoints>(u, unit(u), threads), bytes);
  });
}

// [[Rcpp::export(rng = false)]]
Rcpp::IntegerVector points_maxmin(SEXP stored, int threads) {
  return guard_new([&] {
    const std::vector<int> order = neighbours::maxmin_order(points_in(stored).tree, with_threads(threads));
    Rcpp::IntegerVector rows = new_integers(double(order.size()));
    for (size_t i = 0; i < order.size(); ++i) rows[R_xlen_t(i)] = order[i] + 1;
    return rows;
  });
}

// The earlier neighbours of all points in their order, rows from 1, or by row without an order; or of `some`, positions
// from 1.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_earlier(SEXP stored, Rcpp::Nullable<Rcpp::IntegerVector> order, int m,
                                   Rcpp::Nullable<Rcpp::IntegerVector> some, Rcpp::List settings) {
  return guard_new([&] {
    StoredPoints& all = points_in(stored);
    const Settings read = read_settings(settings);
    const Count n = all.tree.points.n;
    const Rcpp::IntegerVector rows(order.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(order));
    if (order.isNotNull() && rows.size() != n) throw InputError("input", "an order is a permutation of rows");
    const neighbours::Positions positions(all.tree, order.isNull() ? nullptr : rows.begin());
    if (some.isNull()) {
      Rcpp::IntegerMatrix to = positions_of(m, n);
      const int* places = positions.point.data();
      search({all.tree, positions, all.tree.points.at.data(), n, places, places, m, read, &all.kept}, to.begin());
      return to;
    }
    const Rcpp::IntegerVector chosen(some);
    check_numbers(chosen, n);
    std::vector<int> earlier;
    for (const int position : chosen) earlier.push_back(position - 1);
    Rcpp::IntegerMatrix to = positions_of(m, chosen.size());
    const std::vector<double> queries = all.coordinates(earlier, order.isNull() ? nullptr : rows.begin());
    search({all.tree, positions, queries.data(), Count(earlier.size()), earlier.data(), nullptr, m, read, &all.kept},
           to.begin());
    return to;
  });
}

// The nearest rows of the points for each row of `query`.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_nearest(Rcpp::NumericMatrix query, SEXP stored, int m, Rcpp::List settings) {
  return guard_new([&] {
    Rcpp::IntegerMatrix to = positions_of(m, query.nrow());
    const Settings read = read_settings(settings);
    const auto nearest = [&](StoredPoints& all) {
      const neighbours::Points queries = points_of(query, all.unit);
      search({all.tree, all.by_row, queries.at.data(), queries.n, nullptr, nullptr, m, read, &all.kept}, to.begin());
    };
    StoredPoints& all = points_in(stored);
    const double finer = unit(query);
    // squared distances to points that are so far away would be infinite
    if (finer < std::ldexp(all.unit, -400)) {
      StoredPoints again(all.u, finer, read.threads);
      nearest(again);
    } else {
      nearest(all);
    }
    return to;
  });
}
