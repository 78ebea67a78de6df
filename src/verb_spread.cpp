// The steps of a non-uniform fast Fourier transform, other than the Fourier transform itself, for
// R/verb_kernel_sum_steps.R.
#include "border.h"
#include "fourier/series.h"
#include "run/backend.h"
#include "settings.h"

using namespace kernops;

namespace {

struct Placed {
  Grid grid;
  Window window;
  SortedPoints points;
};

Grid read_grid(const Rcpp::IntegerVector& size) {
  Grid grid{int(size.size()), {1, 1, 1}};
  if (grid.d < 1 || grid.d > 3) throw InputError("dim", "a grid has 1 to 3 coordinates");
  for (int k = 0; k < grid.d; ++k) {
    if (size[k] < 2 * Window::most_width) throw InputError("input", "a grid has at least 32 cells along a coordinate");
    grid.size[size_t(k)] = size[k];
  }
  return grid;
}

Window read_window(const Rcpp::NumericMatrix& coefficients) {
  const int width = coefficients.nrow(), degree = coefficients.ncol() - 1;
  if (width < 2 || width > Window::most_width || degree < 0) throw InputError("input", "a window has 2 to 16 cells");
  if (degree > Window::most_degree) throw InputError("input", "a window has polynomials of degree 23 or less");
  return {width, degree, {coefficients.begin(), coefficients.end()}};
}

}  // namespace

// Sorts points by their cells in the grid, for sums_on_grid() and sums_at_points(). `window` has the coefficients of
// piecewise polynomials, with a row for each piece and a column for each power.
// [[Rcpp::export(rng = false)]]
SEXP place_points(Rcpp::NumericMatrix x, Rcpp::NumericVector origin, Rcpp::NumericVector scale,
                  Rcpp::IntegerVector size, Rcpp::NumericMatrix window, int threads) {
  return guard_new([&]() -> SEXP {
    const Grid grid = read_grid(size);
    if (x.ncol() != grid.d || origin.size() != grid.d || scale.size() != grid.d)
      throw InputError("dim", "points, origin and scale have the coordinates of the grid");
    const Window read = read_window(window);
    return Rcpp::XPtr<Placed>(new Placed{
        grid, read,
        SortedPoints(x.begin(), x.nrow(), origin.begin(), scale.begin(), grid, read.width, with_threads(threads))});
  });
}

// For each cell of the grid, the sum over all points i of values[i] times the window function of point i in the cell.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector sums_on_grid(SEXP placed, Rcpp::NumericVector values, int threads) {
  return guard_new([&] {
    const Placed& of = *Rcpp::XPtr<Placed>(placed);
    if (size_t(values.size()) != of.points.row.size()) throw InputError("dim", "each point has a value");
    Rcpp::NumericVector sums = zeros(double(of.grid.cells()));
    spread(of.points, of.window, values.begin(), sums.begin(), with_threads(threads));
    return sums;
  });
}

// For each point, the sum over all cells of the grid of the cell's value times the point's window function in the cell.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector sums_at_points(SEXP placed, Rcpp::NumericVector grid, int threads) {
  return guard_new([&] {
    const Placed& of = *Rcpp::XPtr<Placed>(placed);
    if (grid.size() != of.grid.cells()) throw InputError("dim", "the grid has the cells of the points");
    Rcpp::NumericVector values = new_numbers(double(of.points.row.size()));
    interpolate(of.points, of.window, grid.begin(), values.begin(), with_threads(threads));
    return values;
  });
}

// The name of the backend that computes sums with `work` operations.
// [[Rcpp::export(rng = false)]]
std::string backend_for_sums(double work, Rcpp::List settings) {
  return guard_new([&] { return choose_backend(read_settings(settings).backend, {MemorySpace::host}, work).name(); });
}

// For each point of x, computes the sum over the points of y by a Fourier series, on the backend of the settings. If y
// is NULL, the sum is over the points of x. `grid` has the elements origin, scale, size and window of place_points();
// `factor` has the modes of SeriesRequest. The result is NULL if the backend does not compute series.
// [[Rcpp::export(rng = false)]]
SEXP sums_of_series(Rcpp::NumericMatrix x, Rcpp::Nullable<Rcpp::NumericMatrix> y, Rcpp::NumericMatrix b,
                    Rcpp::List grid, Rcpp::ComplexVector factor, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const Settings read = read_settings(settings);
    const Rcpp::NumericVector origin = grid["origin"], scale = grid["scale"];
    const Rcpp::NumericMatrix from = y.isNull() ? x : Rcpp::NumericMatrix(y.get());
    Rcpp::NumericMatrix sums = zeros(x.nrow(), b.ncol());
    const SeriesRequest request{read_grid(grid["size"]),
                                read_window(grid["window"]),
                                x.begin(),
                                from.begin(),
                                x.nrow(),
                                from.nrow(),
                                origin.begin(),
                                scale.begin(),
                                b.begin(),
                                b.ncol(),
                                reinterpret_cast<const std::complex<double>*>(factor.begin()),
                                sums.begin(),
                                read};
    if (x.ncol() != request.grid.d || from.ncol() != x.ncol() || origin.size() != x.ncol() || scale.size() != x.ncol())
      throw InputError("dim", "points, origin and scale have the coordinates of the grid");
    if (b.nrow() != from.nrow()) throw InputError("dim", "each point has a value");
    if (factor.size() != request.frequencies()) throw InputError("dim", "the factor has the frequencies of the grid");
    if (!choose_backend(read.backend, {MemorySpace::host}, 0).series(request)) return R_NilValue;
    return sums;
  });
}
