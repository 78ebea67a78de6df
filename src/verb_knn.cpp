// Nearest neighbours with their distances, for R/verb_knn.R.
#include "stored_points.h"

using namespace kernops;

namespace {

// The position of each row in the tree.
LargeVector<int> places_in(const neighbours::KdTree& tree) {
  LargeVector<int> place(tree.row.size());
  for (size_t i = 0; i < place.size(); ++i) place[size_t(tree.row[i])] = int(i);
  return place;
}

// Writes the lists of all queries, with `listed` rows from 1 each, to the rows of two matrices with k columns, together
// with the distances. If the queries are the points, each list drops its own row; if a list does not contain its own
// row, because its query has more than k duplicates, it drops its last row.
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

// A list of `index` and `distance`, with a row for each row of `query` or, without `query`, for each point: the k
// nearest points, of which there must be at least k. The nearest point comes first; ties are ordered by row.
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
