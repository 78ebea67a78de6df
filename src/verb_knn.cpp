// Nearest neighbours and their distances, for R/verb_knn.R.
#include "stored_points.h"

using namespace kernops;

namespace {

// The position in the tree of each row of the points.
LargeVector<int> places_in(const neighbours::KdTree& tree) {
  LargeVector<int> place(tree.row.size());
  for (size_t i = 0; i < place.size(); ++i) place[size_t(tree.row[i])] = int(i);
  return place;
}

// Writes the neighbours of all queries and their distances to two matrices with one row per query and k columns. For
// each query, `lists` has `listed` rows of points, from 1. If the queries are the points, these lists have k + 1
// elements, and the row of the query itself is omitted. If a list does not contain this row, because the query has more
// than k duplicates, the last element is omitted.
void write_lists(const StoredPoints& points, const TreeQueries& queries, const std::vector<int>& lists, int listed,
                 int k, const Settings& settings, int* index, double* distance) {
  const Count n = queries.count();
  const int d = points.tree.points.d;
  const bool self = listed > k;
  const LargeVector<int> place = places_in(points.tree);
  in_parts(n, settings, [&](Count first, Count last) {
    for (Count q = first; q < last; ++q) {
      const Count row = queries.rows()[q];
      const int* const list = lists.data() + row * listed;
      for (int from = 0, to = 0; to < k; ++from) {
        if (self && list[from] == row + 1) continue;
        const double* const near = points.tree.points[place[size_t(list[from]) - 1]];
        index[to * n + row] = list[from];
        distance[to++ * n + row] =
            std::sqrt(neighbours::squared_distance<0>(queries.data() + q * d, near, d)) / points.unit;
      }
    }
  });
}

}  // namespace

// Finds the k nearest points of each row of `query` or, if it is NULL, of each stored point. The result is a list of
// two matrices, `index` and `distance`, with one row per query. There must be at least k points. The nearest point
// comes first, and ties are ordered by row.
// [[Rcpp::export(rng = false)]]
Rcpp::List points_knn(SEXP stored, Rcpp::Nullable<Rcpp::NumericMatrix> query, int k, Rcpp::List settings) {
  return guard_new([&] {
    const Settings read = read_settings(settings);
    Rcpp::IntegerMatrix index;
    Rcpp::NumericMatrix distance;
    at_scale_of(stored, query, read, [&](StoredPoints& points) {
      const TreeQueries queries(points, query, read);
      const Count n = queries.count();
      const int listed = k + query.isNull();
      std::vector<int> lists(size_t(n) * size_t(listed));
      search({points.tree, points.by_row, queries.data(), n, nullptr, queries.rows(), listed, read, &points.kept},
             lists.data());
      index = positions_of(int(n), k), distance = zeros(int(n), k);
      write_lists(points, queries, lists, listed, k, read, index.begin(), distance.begin());
    });
    return named_list({{"index", index}, {"distance", distance}});
  });
}
