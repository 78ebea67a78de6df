// Points that R keeps between searches for neighbours, with a k-d tree. Coordinates are an n x d matrix that R has
// checked.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "border.h"
#include "neighbours/neighbours.h"
#include "run/parallel_for.h"
#include "settings.h"

namespace kernops {

// A power of two by which coordinates are multiplied, so that no squared distance overflows and few underflow to 0.
inline double unit(const Rcpp::NumericMatrix& u) {
  double largest = 0;
  for (const double x : u) largest = std::max(largest, std::abs(x));
  return largest > 0 ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1;
}

inline neighbours::Points points_of(const Rcpp::NumericMatrix& u, double unit, const Settings& settings) {
  neighbours::Points points{LargeVector<double>(size_t(u.size())), u.nrow(), u.ncol()};
  const double* const from = u.begin();
  in_parts(points.n, settings, [&](Count first, Count last) {
    for (Count k = 0; k < points.d; ++k)
      for (Count i = first; i < last; ++i) points.at[size_t(i * points.d + k)] = unit * from[k * points.n + i];
  });
  return points;
}

struct StoredPoints {
  StoredPoints(const Rcpp::NumericMatrix& u, double unit, int threads)
      : u(u),
        unit(unit),
        tree(points_of(u, unit, with_threads(threads)), neighbours::leaf_size, with_threads(threads)),
        by_row(tree, nullptr, with_threads(threads)) {}

  // The coordinates of some points, scaled. `places`, from 0, are positions in `order` or, if `order` is null, rows.
  LargeVector<double> coordinates(const std::vector<int>& places, const int* order) const {
    LargeVector<double> to;
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

inline StoredPoints& points_in(SEXP stored) { return *Rcpp::XPtr<StoredPoints>(stored); }

// Calls body(points). If squared distances to queries that were scaled by `other` might overflow, the points are first
// scaled by `other`, too.
template <class Body> void at_common_scale(StoredPoints& points, double other, int threads, const Body& body) {
  if (other >= std::ldexp(points.unit, -400)) return body(points);
  StoredPoints again(points.u, other, threads);
  body(again);
}

// A matrix for the positions of `rows` neighbours, with one column per query.
inline Rcpp::IntegerMatrix positions_of(int rows, Count columns) {
  const double bytes = bytes_of(INTSXP, double(rows) * double(columns));
  Rcpp::IntegerMatrix positions(allocate(bytes, [&] { return Rf_allocMatrix(INTSXP, rows, int(columns)); }));
  in_huge_pages(positions.begin(), size_t(bytes));
  return positions;
}

// Searches for neighbours, by several threads if there are many queries; finding a neighbour takes about 300
// operations.
inline void search(const neighbours::Request& request, int* to) {
  const double work = 300.0 * double(request.count) * request.most;
  choose_backend(request.settings.backend, {MemorySpace::host}, work).nearest(request, to);
}

// The queries in the order of a k-d tree, with their rows: successive queries are then close to each other and visit
// the same nodes, which are still in the cache. If R passes no queries, the stored points are the queries.
struct TreeQueries {
  TreeQueries(const StoredPoints& points, const Rcpp::Nullable<Rcpp::NumericMatrix>& query, const Settings& settings) {
    if (query.isNull()) {
      tree = &points.tree;
      return;
    }
    made.emplace(points_of(Rcpp::NumericMatrix(query), points.unit, settings), neighbours::leaf_size, settings);
    tree = &*made;
  }
  Count count() const { return tree->points.n; }
  const double* data() const { return tree->points.at.data(); }
  const int* rows() const { return tree->row.data(); }

  std::optional<neighbours::KdTree> made;
  const neighbours::KdTree* tree;
};

// Calls body(points) with points that are scaled such that squared distances to the queries are finite.
template <class Body>
void at_scale_of(SEXP stored, const Rcpp::Nullable<Rcpp::NumericMatrix>& query, const Settings& settings,
                 const Body& body) {
  if (query.isNull()) return body(points_in(stored));
  at_common_scale(points_in(stored), unit(Rcpp::NumericMatrix(query)), settings.threads, body);
}

}  // namespace kernops
