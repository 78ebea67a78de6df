// Order statistics and user formulas over a run of adjacent dimensions of an array, without rearranging the array. Let
// `before` be the number of entries of the dimensions before the run, and `length` the number of entries of the run.
// Each index of the dimensions after the run selects a `length` x `before` matrix, stored by rows, whose columns are
// the slices. A plan covers several of these matrices. The plan has one segment for each matrix, and the positions of
// the segment are the rows of the matrix. The values of a column are read with a stride.
#include "order/order_statistics.h"
#include "segment_values.h"
#include "settings.h"

using namespace kernops;

namespace {

struct Slices {
  Count before, length, after;
  explicit Slices(const Rcpp::NumericVector& sizes)
      : before(Count(sizes[0])), length(Count(sizes[1])), after(Count(sizes[2])) {}

  // Calls reduce(segments, x, n, m) for successive groups of matrices n .. m - 1 that fit the cache.
  template <class F> void for_parts(SEXP x, F reduce) const {
    constexpr Count at_once = 1 << 17;
    const Count most = std::max<Count>(1, at_once / std::max<Count>(1, before * length));
    std::unique_ptr<Segments> segments;
    SegmentValues values = read_values(x, length * after, before);
    const auto* const bytes = static_cast<const char*>(values.data);
    const Count size = values.type == SegmentValues::integers ? sizeof(int) : sizeof(double);
    values.row = before, values.column = 1;
    for (Count n = 0; n < after; n += most) {
      const Count number = std::min(most, after - n);
      if (!segments || segments->count != number) {
        segments = std::make_unique<Segments>();
        segments->values = number * length;
        segments->set_lengths(std::vector<Count>(size_t(number), length), 0, {});
      }
      values.data = bytes + n * before * length * size;
      reduce(*segments, values, n, n + number);
    }
  }
};

}  // namespace

// Result o of column a of matrix c is stored at out[(c * outputs + o) * before + a]. `how` has the elements that
// seg_order_statistic() reads.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector axis_order_statistic(SEXP x, Rcpp::NumericVector sizes, Rcpp::List how, Rcpp::List settings) {
  return guard_new([&] {
    const Slices slices(sizes);
    Rcpp::NumericVector out;
    std::vector<double> part;
    slices.for_parts(x, [&](Segments& segments, const SegmentValues& values, Count n, Count m) {
      OrderRequest request{segments};
      read_order(how, request);
      request.x = values, request.columns = slices.before, request.settings = read_settings(settings);
      const Count outputs = request.outputs();
      if (n == 0) out = new_numbers(double(slices.before) * double(slices.after) * double(outputs));
      part.resize(size_t(outputs * slices.before * (m - n)));
      request.out = {part.data(), m - n, 1};
      reduce_in_order(request);
      for (Count o = 0; o < outputs; ++o)
        for (Count a = 0; a < slices.before; ++a)
          for (Count c = n; c < m; ++c)
            out[(c * outputs + o) * slices.before + a] = part[size_t((o * slices.before + a) * (m - n) + c - n)];
    });
    return out;
  });
}

// Reduces the slices by a formula of the user.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector axis_fold(SEXP x, Rcpp::NumericVector sizes, Rcpp::List operation, bool skip_missing,
                              Rcpp::List settings) {
  return guard_new([&] {
    const Slices slices(sizes);
    const Rcpp::NumericVector out = new_numbers(double(slices.before) * double(slices.after));
    slices.for_parts(x, [&](Segments& segments, const SegmentValues& values, Count n, Count) {
      SegmentRequest request{segments};
      read_operation(operation, request);
      request.x = values, request.columns = slices.before, request.skip_missing = skip_missing;
      request.settings = read_settings(settings);
      request.out = {const_cast<double*>(out.begin()) + n * slices.before, 1, slices.before};
      cpu_backend().segments(request);
    });
    return out;
  });
}
