// Finds all points within a radius, for R/verb_within.R.
#include "neighbours/within.h"

#include <climits>
#include <numeric>

#include "stored_points.h"

using namespace kernops;

namespace {

using Lists = std::vector<std::vector<neighbours::Within>>;

// Converts the lists of neighbours of the queries to the columns of a sparse matrix of distances. Query q has column
// rows[q] of the matrix, from 0. The result has the ends of the columns, the row of each entry, from 0, and the
// distances.
SEXP sparse_parts(const Lists& lists, const int* rows, double unit) {
  std::vector<const std::vector<neighbours::Within>*> of_row(lists.size());
  for (size_t q = 0; q < lists.size(); ++q) of_row[size_t(rows[q])] = &lists[q];
  double total = 0;
  for (const auto& list : lists) total += double(list.size());
  Rcpp::IntegerVector ends = new_integers(double(lists.size()) + 1), points = new_integers(total);
  Rcpp::NumericVector distances = new_numbers(total);
  int *end = ends.begin(), *point = points.begin();
  double* distance = distances.begin();
  *end = 0;
  for (const auto* list : of_row) {
    for (const neighbours::Within& one : *list) *point++ = one.row, *distance++ = one.distance / unit;
    *++end = int(point - points.begin());
  }
  return named_list({{"p", ends}, {"i", points}, {"x", distances}});
}

}  // namespace

// Finds the points within `radius` of each row of `query` or, if it is NULL, of each stored point. A stored point is
// not its own neighbour. The result has the parts of a sparse matrix with one column per query. If `count` is true, the
// result is the number of neighbours of each query.
// [[Rcpp::export(rng = false)]]
SEXP points_within(SEXP stored, Rcpp::Nullable<Rcpp::NumericMatrix> query, double radius, bool count, int threads) {
  return guard_new([&]() -> SEXP {
    const Settings settings = with_threads(threads);
    Rcpp::RObject result;
    at_scale_of(stored, query, settings, [&](StoredPoints& points) {
      const TreeQueries queries(points, query, settings);
      const int* const skip = query.isNull() ? queries.rows() : nullptr;
      const double scaled = radius * points.unit;
      const std::vector<double> counts =
          neighbours::count_within(points.tree, queries.data(), queries.count(), scaled, skip, settings);
      if (count) {
        Rcpp::NumericVector by_row = new_numbers(double(counts.size()));
        for (size_t q = 0; q < counts.size(); ++q) by_row[queries.rows()[q]] = counts[q];
        result = by_row;
        return;
      }
      if (std::accumulate(counts.begin(), counts.end(), 0.0) > INT_MAX)
        throw InputError("input", "a sparse matrix holds at most 2^31 - 1 pairs: use a smaller radius");
      const Lists lists = neighbours::find_within(points.tree, queries.data(), queries.count(), scaled, skip, settings);
      result = sparse_parts(lists, queries.rows(), points.unit);
    });
    return result;
  });
}
