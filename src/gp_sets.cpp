// The R interface of computations with conditioning sets, for R/lik_vecchia.R.
#include "cuda/sets/sets.h"

#include "cpu/cpu.h"
#include "held_sets.h"
#include "run/parallel_for.h"
#include "whole_numbers.h"

using namespace kernops;

namespace kernops {

SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, const Rcpp::NumericMatrix& points,
                      const Rcpp::NumericVector& noise, const Rcpp::IntegerMatrix& neighbours,
                      const Rcpp::List& settings) {
  const Count n = points.nrow(), sets = neighbours.ncol();
  if (noise.size() != n) throw InputError("dim", "each point has a noise variance");
  SetRequest request{};
  request.settings = read_settings(settings);
  request.covariance = Rcpp::XPtr<Kernel>(SEXP(operators["values"])).get(), request.nugget = -1;
  if (operators.containsElementNamed("derivatives"))
    request.slopes = Rcpp::XPtr<Kernel>(SEXP(operators["derivatives"])).get();
  request.theta = theta.begin(), request.parameters = int(theta.size());
  request.points = points.begin(), request.n = n, request.d = points.ncol(), request.noise = noise.begin();
  request.neighbours = neighbours.begin(), request.m = request.stride = neighbours.nrow();
  request.first = n - sets, request.sets = sets;
  return request;
}

SetRequest request_of(const Rcpp::List& operators, const Rcpp::NumericVector& theta, int nugget, const HeldSets& sets,
                      double count, const Rcpp::List& settings) {
  SetRequest request = request_of(operators, theta, sets.points, sets.noise, sets.neighbours, settings);
  request.nugget = nugget - 1, request.noise_slope = sets.noise_slope.begin();
  request.slopes_of_noise = nugget > 0 ? theta[nugget - 1] : 0;
  request.m = int(std::min<double>(request.stride, count));
  if (sets.factors.nrow()) request.factors = sets.factors.begin(), request.rank = sets.factors.nrow();
  return request;
}

}  // namespace kernops

namespace {

// Chooses the backend by the number of operations: some tens for each pair of points of a set, and a sixth of the cube
// of the set's size for the Cholesky factor.
const Backend& chosen(const SetRequest& request) {
  if (request.rank) return cpu_backend();
  const double size = request.m + 1, each = size * size * (20 + size / 6) * (request.slopes ? 3 : 1);
  return choose_backend(request.settings.backend, {MemorySpace::host}, each * double(request.sets));
}

// The weights and standard deviations as R objects. Without slopes, the weights are a matrix, and the standard
// deviations are a vector. With slopes, the weights are an array of three dimensions, and the standard deviations are a
// matrix. The first position of the second dimension of the array, and the first row of the matrix, have the values.
// The other positions and rows have the derivatives of these values with respect to the parameters.
Rcpp::List weights_of(const SetRequest& request) {
  const int rows = request.slopes ? 1 + request.parameters : 1, m = request.m, sets = int(request.sets);
  Rcpp::NumericVector weights = new_numbers(double(m) * rows * sets), sd = zeros(double(rows) * sets);
  double* const to = weights.begin();
  in_parts(Count(weights.size()), request.settings,
           [&](Count first, Count last) { std::fill(to + first, to + last, 0.0); });
  chosen(request).set_weights(request, weights.begin(), sd.begin());
  if (request.slopes) sd.attr("dim") = Rcpp::IntegerVector::create(rows, sets);
  weights.attr("dim") =
      request.slopes ? Rcpp::IntegerVector::create(m, rows, sets) : Rcpp::IntegerVector::create(m, sets);
  return named_list({{"weights", weights}, {"sd", sd}});
}

}  // namespace

// Stores points in their order, and the neighbours of the last points, for sets_sums().
// [[Rcpp::export(rng = false)]]
SEXP sets_hold(Rcpp::NumericMatrix points, Rcpp::NumericVector noise, Rcpp::NumericVector noise_slope,
               Rcpp::NumericMatrix values, Rcpp::IntegerMatrix neighbours, int threads = 1) {
  return guard_new([&]() -> SEXP {
    if (values.nrow() != points.nrow() || noise_slope.size() != points.nrow())
      throw InputError("dim", "each point has values and the slope of its noise");
    if (neighbours.ncol() > points.nrow()) throw InputError("dim", "each point has at most one set");
    check_neighbours(neighbours, points.nrow(), threads);
    return Rcpp::XPtr<HeldSets>(
        new HeldSets{points, noise, noise_slope, values, neighbours, nullptr, Rcpp::NumericMatrix(0, 0)});
  });
}

// Copies stored sets and subtracts a low-rank part from the covariance. `factors` has one column per point; the inner
// product of two columns is subtracted from the covariance of two points.
// [[Rcpp::export(rng = false)]]
SEXP sets_with_factors(SEXP held, Rcpp::NumericMatrix factors) {
  return guard_new([&]() -> SEXP {
    const HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    if (factors.ncol() != sets.points.nrow()) throw InputError("dim", "each point has factors");
    return Rcpp::XPtr<HeldSets>(
        new HeldSets{sets.points, sets.noise, sets.noise_slope, sets.values, sets.neighbours, nullptr, factors});
  });
}

// Computes the sums of jobs/sets.h over stored sets, with `count` neighbours per set. Returns the sums, and in `bad`
// the number of the first singular set, or 0. held_sets.h explains `nugget`.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_sums(Rcpp::List operators, Rcpp::NumericVector theta, int nugget, SEXP held, double count,
                     Rcpp::List settings) {
  return guard_new([&] {
    HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    SetRequest request = request_of(operators, theta, nugget, sets, count, settings);
    request.values = sets.values.begin(), request.columns = sets.values.ncol(), request.kept = &sets.kept;
    const SetTotals totals = chosen(request).set_sums(request);
    Rcpp::NumericVector sums = new_numbers(double(totals.sums.size())), bad = new_numbers(1);
    std::copy(totals.sums.begin(), totals.sums.end(), sums.begin());
    bad[0] = double(totals.bad + 1);
    return named_list({{"sums", sums}, {"bad", bad}});
  });
}

// Four CUDA texts: for sums and for weights, and the same two texts for matrices that are partly in shared memory and
// partly in device memory. The texts include slopes unless `slopes` is NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector sets_sources(Rcpp::XPtr<kernops::Kernel> covariance, SEXP slopes, bool single) {
  return guard_new([&] {
    const Kernel* both = Rf_isNull(slopes) ? nullptr : &*Rcpp::XPtr<Kernel>(slopes);
    return Rcpp::CharacterVector::create(
        cuda::set_sums_text(*covariance, both, single), cuda::set_weights_text(*covariance, both, single),
        cuda::set_sums_text(*covariance, both, single, true), cuda::set_weights_text(*covariance, both, single, true));
  });
}

// The conditional distribution of each of the last points given its neighbours: the weights of the neighbours in the
// conditional mean, and the conditional standard deviation. If `operators` contains the kernel `derivatives`, the
// derivatives of the weights and of the logarithm of the standard deviation are returned, too. The covariance of each
// point with itself is multiplied by `diagonal`.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_weights(Rcpp::List operators, Rcpp::NumericVector theta, Rcpp::NumericMatrix points,
                        Rcpp::NumericVector noise, double diagonal, Rcpp::IntegerMatrix neighbours,
                        Rcpp::List settings) {
  return guard_new([&] {
    SetRequest request = request_of(operators, theta, points, noise, neighbours, settings);
    check_neighbours(neighbours, request.n);
    if (request.sets > request.n) throw InputError("dim", "each point has at most one set");
    request.diagonal = diagonal;
    return weights_of(request);
  });
}

// Like sets_weights(), for stored sets and with `count` neighbours per set.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_residual_weights(Rcpp::List operators, Rcpp::NumericVector theta, int nugget, SEXP held, double count,
                                 Rcpp::List settings) {
  return guard_new(
      [&] { return weights_of(request_of(operators, theta, nugget, *Rcpp::XPtr<HeldSets>(held), count, settings)); });
}

// The gradient, with respect to theta, of a function of the weights and standard deviations of stored sets. `weights`
// and `log_sd` are the derivatives of the function with respect to the weights and to the logarithms of the standard
// deviations. The result has also, for each set, the inverse covariance of the neighbours times the derivatives with
// respect to the weights.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_residual_adjoint(Rcpp::List operators, Rcpp::NumericVector theta, int nugget, SEXP held,
                                 Rcpp::NumericMatrix weights, Rcpp::NumericVector log_sd, Rcpp::List settings) {
  return guard_new([&] {
    const HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    const SetRequest request = request_of(operators, theta, nugget, sets, weights.nrow(), settings);
    if (weights.nrow() != request.m || weights.ncol() != request.sets || log_sd.size() != request.sets)
      throw InputError("dim", "each neighbour has a weight, and each set a standard deviation");
    Rcpp::NumericVector solved = zeros(double(request.m) * request.sets), gradient = new_numbers(double(theta.size()));
    const std::vector<double> sums = cpu::set_adjoint(request, weights.begin(), log_sd.begin(), solved.begin());
    std::copy(sums.begin(), sums.end(), gradient.begin());
    solved.attr("dim") = Rcpp::IntegerVector::create(request.m, int(request.sets));
    return named_list({{"gradient", gradient}, {"solved", solved}});
  });
}

// Like sets_weights() for other points, without noise, whose neighbours are stored points. If the stored points have
// low-rank factors, each other point has its factors after its coordinates.
// [[Rcpp::export(rng = false)]]
Rcpp::List sets_weights_at(Rcpp::List operators, Rcpp::NumericVector theta, SEXP held, Rcpp::NumericMatrix targets,
                           double diagonal, Rcpp::IntegerMatrix neighbours, Rcpp::List settings) {
  return guard_new([&] {
    HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    const Count n = sets.points.nrow(), d = sets.points.ncol(), rank = sets.factors.nrow(), targeted = targets.nrow();
    if (targeted != neighbours.ncol() || targets.ncol() != d + rank)
      throw InputError("dim", "each point has coordinates and neighbours");
    SetRequest request = request_of(operators, theta, sets.points, sets.noise, neighbours, settings);
    check_neighbours(neighbours, n, request.settings.threads);
    request.own = targets.begin(), request.first = n, request.kept = &sets.kept, request.diagonal = diagonal;
    std::vector<double> factors(sets.factors.begin(), sets.factors.end());
    for (Count i = 0; i < targeted; ++i)
      for (Count e = 0; e < rank; ++e) factors.push_back(targets[(d + e) * targeted + i]);
    if (rank) request.factors = factors.data(), request.rank = int(rank);
    return weights_of(request);
  });
}
