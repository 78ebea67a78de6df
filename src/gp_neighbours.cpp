// Orderings and nearest neighbours of points for R. Positions are counted from 1; coordinates are n x d matrices that R
// has checked.
#include "border.h"
#include "neighbours/merge.h"
#include "stored_points.h"

using namespace kernops;

namespace {

// Checks that each element of `some` is the number of a point, from 1 to n.
void check_numbers(const Rcpp::IntegerVector& some, Count n) {
  for (const int number : some)
    if (number < 1 || number > n) throw InputError("input", "points are chosen by their numbers");
}

}  // namespace

// Stores points with a tree, for points_maxmin(), points_earlier() and points_nearest().
// [[Rcpp::export(rng = false)]]
SEXP points_hold(Rcpp::NumericMatrix u, int threads) {
  return guard_new([&]() -> SEXP {
    const double bytes = 20.0 * double(u.size());  // size of the tree: coordinates, boxes and rows
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

namespace {

// The points for which neighbours are searched: all points in the order of a tree, or the points at the positions
// `some`, from 1.
class Queries {
 public:
  Queries(const StoredPoints& points, const neighbours::Positions& positions, const int* order,
          const Rcpp::Nullable<Rcpp::IntegerVector>& some)
      : all_(some.isNull()), point_(positions.point) {
    count_ = points.tree.points.n, data_ = points.tree.points.at.data();
    if (all_) return;
    const Rcpp::IntegerVector chosen(some);
    check_numbers(chosen, count_);
    for (const int position : chosen) some_.push_back(position - 1);
    coordinates_ = points.coordinates(some_, order);
    count_ = Count(some_.size()), data_ = coordinates_.data();
  }

  Count count() const { return count_; }
  const double* data() const { return data_; }
  const int* places() const { return all_ ? point_.data() : nullptr; }
  // The position of the query whose result has index i.
  Count position(Count i) const { return all_ ? i : some_[size_t(i)]; }

  // Writes the m nearest earlier points of each query to `to`.
  void earlier(StoredPoints& points, const neighbours::Positions& positions, int m, const Settings& settings,
               int* to) const {
    const int* limits = all_ ? point_.data() : some_.data();
    search({points.tree, positions, data_, count_, limits, places(), m, settings, &points.kept}, to);
  }

 private:
  const bool all_;
  const LargeVector<int>& point_;
  std::vector<int> some_;
  LargeVector<double> coordinates_;
  Count count_;
  const double* data_;
};

}  // namespace

// The nearest earlier points of each point, as row numbers from 1. `order` gives the ordering; if it is NULL, points
// are ordered by row. If `some` is given, only the points at these positions, from 1, are queries.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_earlier(SEXP stored, Rcpp::Nullable<Rcpp::IntegerVector> order, int m,
                                   Rcpp::Nullable<Rcpp::IntegerVector> some, Rcpp::List settings) {
  return guard_new([&] {
    StoredPoints& points = points_in(stored);
    const Rcpp::IntegerVector rows(order.isNull() ? Rcpp::IntegerVector() : Rcpp::IntegerVector(order));
    if (order.isNotNull() && rows.size() != points.tree.points.n)
      throw InputError("input", "an order is a permutation of rows");
    const int* of_rows = order.isNull() ? nullptr : rows.begin();
    const Settings read = read_settings(settings);
    const neighbours::Positions positions(points.tree, of_rows, read);
    const Queries queries(points, positions, of_rows, some);
    Rcpp::IntegerMatrix to = positions_of(m, queries.count());
    queries.earlier(points, positions, m, read, to.begin());
    return to;
  });
}

// The rows of the m nearest stored points for each row of `query`.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_nearest(Rcpp::NumericMatrix query, SEXP stored, int m, Rcpp::List settings) {
  return guard_new([&] {
    Rcpp::IntegerMatrix to = positions_of(m, query.nrow());
    const Settings read = read_settings(settings);
    const auto nearest = [&](StoredPoints& all) {
      const neighbours::Points queries = points_of(query, all.unit, read);
      search({all.tree, all.by_row, queries.at.data(), queries.n, nullptr, nullptr, m, read, &all.kept}, to.begin());
    };
    at_common_scale(points_in(stored), unit(query), read.threads, nearest);
    return to;
  });
}

// For each point, or for the points at the positions `some`, the nearest points among all base points and the earlier
// points in `order`. The numbers are those of points_earlier() for an ordering that has the base points first and then
// the points.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_following(SEXP base, SEXP stored, Rcpp::IntegerVector order, int m,
                                     Rcpp::Nullable<Rcpp::IntegerVector> some, Rcpp::List settings) {
  return guard_new([&] {
    StoredPoints &points = points_in(stored), &fixed = points_in(base);
    if (order.size() != points.tree.points.n) throw InputError("input", "an order is a permutation of rows");
    if (points.u.ncol() != fixed.u.ncol()) throw InputError("dim", "base points have other coordinates");
    const Settings read = read_settings(settings);
    const neighbours::Positions positions(points.tree, order.begin(), read);
    const Queries queries(points, positions, order.begin(), some);
    Rcpp::IntegerMatrix to = positions_of(m, queries.count());
    LargeVector<int> of_new(size_t(to.size())), of_base(size_t(to.size()));
    queries.earlier(points, positions, m, read, of_new.data());
    const auto merge = [&](StoredPoints& all) {
      LargeVector<double> scaled(queries.data(), queries.data() + queries.count() * points.u.ncol());
      for (double& x : scaled) x *= all.unit / points.unit;
      search({all.tree, all.by_row, scaled.data(), queries.count(), nullptr, queries.places(), m, read, &all.kept},
             of_base.data());
      const neighbours::Merge merge({all.u.begin(), all.u.nrow()}, {points.u.begin(), points.u.nrow()}, all.u.ncol(),
                                    order.begin(), m, std::min(all.unit, points.unit));
      const int *base_list = of_base.data(), *new_list = of_new.data();
      int* const result = to.begin();
      constexpr Count unit = 512;
      parallel_for(ceil_div(queries.count(), unit), read.threads, read, [&](Count begin, Count) {
        for (Count i = begin * unit; i < std::min(queries.count(), (begin + 1) * unit); ++i)
          merge.run(queries.position(i), base_list + i * m, new_list + i * m, result + i * m);
      });
    };
    at_common_scale(fixed, points.unit, read.threads, merge);
    return to;
  });
}

// Joins two lists of neighbours of each point. The points of `more` that are not in `near` are appended to `near`. If a
// list is then too long, the last points of `near`, which are the farthest, are dropped.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix points_joined(Rcpp::IntegerMatrix near, Rcpp::IntegerMatrix more, int threads) {
  return guard_new([&] {
    const Count m = near.nrow(), others = more.nrow(), count = near.ncol();
    if (more.ncol() != count || others > m) throw InputError("dim", "two lists of neighbours are of the same points");
    Rcpp::IntegerMatrix to = positions_of(int(m), count);
    const int *const lists = near.begin(), *const other_lists = more.begin();
    int* const result = to.begin();
    const Settings settings = with_threads(threads);
    constexpr Count unit = 512;
    parallel_for(ceil_div(count, unit), threads, settings, [&](Count block, Count) {
      std::vector<int> added;
      for (Count i = block * unit; i < std::min(count, (block + 1) * unit); ++i) {
        const int *const list = lists + i * m, *const end = std::find(list, list + m, 0);
        added.clear();
        for (Count k = i * others; k < (i + 1) * others; ++k)
          if (std::find(list, end, other_lists[k]) == end) added.push_back(other_lists[k]);
        const Count kept = std::min<Count>(end - list, m - Count(added.size()));
        int* const last = std::copy(added.begin(), added.end(), std::copy_n(list, kept, result + i * m));
        std::fill(last, result + (i + 1) * m, 0);
      }
    });
    return to;
  });
}
