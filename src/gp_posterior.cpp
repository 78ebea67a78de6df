// The R interface of the posterior precision of R/lik_laplace_vecchia.R.
#include "neighbours/lanes.h"
#include "neighbours/posterior.h"

#include "border.h"
#include "run/parallel_for.h"
#include "settings.h"
#include "whole_numbers.h"

using namespace kernops;
using neighbours::Posterior;

namespace {

neighbours::PointSets sets_of(const Rcpp::IntegerMatrix& near, Count points) {
  check_neighbours(near, points);
  return {near.begin(), near.ncol(), near.nrow()};
}

Posterior& posterior_of(SEXP held) { return *Rcpp::XPtr<Posterior>(held); }

// Settings for a number of threads. Computations with these settings cannot be interrupted, because a thread that stops
// would leave other threads waiting for its rows.
Settings for_threads(int threads) {
  Settings settings;
  settings.threads = threads;
  return settings;
}

const double* of_length(const Rcpp::NumericVector& x, Count length) {
  if (x.size() != length) throw InputError("dim", "each point has a number");
  return x.begin();
}

// Reorders a vector for the posterior, which stores all effects before the points; see Posterior::inner().
std::vector<double> inward(const Posterior& posterior, const double* x, Count columns = 1) {
  const size_t n = size_t(posterior.length());
  std::vector<double> out(n * size_t(columns));
  for (size_t first = 0; first < out.size(); first += n)
    for (size_t i = 0; i < n; ++i) out[first + posterior.inner(i)] = x[first + i];
  return out;
}

void outward(const Posterior& posterior, const double* x, double* to) {
  for (size_t i = 0; i < size_t(posterior.length()); ++i) to[i] = x[posterior.inner(i)];
}

// A group of columns that are processed together. `first` is the number of the first column; `from` points to the
// columns, and `to` to the memory for the results.
struct Columns {
  Count first, count;
  const double* from;
  double* to;
  Settings settings;
};

// Calls each(first, count, settings) for groups of columns of `length` numbers. Groups are as large as possible while
// each thread has at least one group. If columns are long, all threads process one group after another, so that only
// one group is in memory.
template <class Each> void in_groups(Count columns, Count length, int threads, const Each& each) {
  constexpr Count long_columns = 1 << 18;
  const int groups = length < long_columns ? threads : 1;
  const Count together = std::min<Count>(neighbours::lanes, std::max<Count>(1, ceil_div(columns, groups)));
  const Count parts = ceil_div(columns, together);
  const int workers = std::max(1, std::min(groups, int(parts)));
  parallel_for(parts, workers, with_threads(threads), [&](Count part, Count) {
    const Count first = part * together;
    each(first, std::min(together, columns - first), for_threads(threads / workers));
  });
}

// Calls each(columns) for groups of the columns of b, and returns the results.
template <class Each>
Rcpp::NumericMatrix by_columns(const Posterior& posterior, const Rcpp::NumericMatrix& b, int threads,
                               const Each& each) {
  const Count n = posterior.length(), columns = b.ncol();
  const double* const from = of_length(b, n * columns);
  Rcpp::NumericMatrix out = zeros(int(n), int(columns));
  double* const to = out.begin();
  in_groups(columns, n, threads, [&](Count first, Count count, const Settings& settings) {
    const std::vector<double> right = inward(posterior, from + first * n, count);
    std::vector<double> result(right.size());
    each(Columns{first, count, right.data(), result.data(), settings});
    for (Count c = 0; c < count; ++c) outward(posterior, result.data() + c * n, to + (first + c) * n);
  });
  return out;
}

SEXP held_posterior(const Rcpp::IntegerMatrix& near, const Rcpp::IntegerMatrix& wide,
                    neighbours::ObservedEffects effects, const std::vector<int>& dense, int threads) {
  const neighbours::PointSets sets = sets_of(near, near.ncol()), wide_sets = sets_of(wide, near.ncol());
  if (wide_sets.count != sets.count) throw InputError("dim", "each point has a wide set");
  auto posterior = std::make_unique<Posterior>(sets, wide_sets, std::move(effects), dense, for_threads(threads));
  const double bytes = posterior->bytes();
  return external_pointer(std::move(posterior), bytes);
}

void sum_points(const Posterior& posterior, const Rcpp::IntegerMatrix& near, const Rcpp::NumericMatrix& weights,
                double nothing, int threads, double* to, double* parts) {
  const neighbours::PointSets sets = sets_of(near, posterior.length());
  posterior.sum_points(sets, of_length(weights, sets.count * sets.m), nothing, with_threads(threads), to, parts);
}

}  // namespace

// Creates the posterior of points; `near` has the earlier neighbours of each point.
// [[Rcpp::export(rng = false)]]
SEXP posterior_hold(Rcpp::IntegerMatrix near, int threads) {
  return guard_new([&]() -> SEXP {
    const Rcpp::IntegerMatrix none(0, near.ncol());
    return held_posterior(near, none, {}, {}, threads);
  });
}

// Creates the posterior if the first points are effects. Point i is observed with effects columns[start[i] + 1] ..
// columns[start[i + 1]], counted from 1, in ascending order; `within` is the lower triangle of the pairs of effects
// that are observed together, as a sparse_symmetric() matrix. The pattern of the factor contains all pairs of the
// points of each set of `wide`. `dense` has the ascending numbers of the effects that belong to the border, counted
// among all effects.
// [[Rcpp::export(rng = false)]]
SEXP posterior_hold_effects(Rcpp::IntegerMatrix near, Rcpp::IntegerMatrix wide, Rcpp::IntegerVector start,
                            Rcpp::IntegerVector columns, Rcpp::List within, Rcpp::IntegerVector dense, int threads) {
  return guard_new([&]() -> SEXP {
    if (start.size() != near.ncol() + 1) throw InputError("dim", "each point has effects");
    const Rcpp::IntegerVector within_start = within["start"], within_row = within["row"];
    const neighbours::LowerTriangle lower{int(within_start.size()) - 1, within_start.begin(), within_row.begin()};
    if ((lower.n < 1 && columns.size()) || lower.n > near.ncol() || lower.entries() != within_row.size())
      throw InputError("dim", "each effect is observed with itself");
    lower.check();
    neighbours::ObservedEffects observed{lower.n, {start.begin(), start.end()}, {}, {}, {}};
    observed.within_start.assign(within_start.begin(), within_start.end());
    observed.within_row.assign(within_row.begin(), within_row.end());
    for (const int column : columns) observed.column.push_back(column - 1);
    std::vector<int> border;
    for (const int effect : dense) {
      const bool ascends = border.empty() || effect - 1 > border.back();
      if (!ascends || effect < 1 || effect > lower.n + dense.size())
        throw InputError("dim", "dense effects are effects");
      border.push_back(effect - 1);
    }
    return held_posterior(near, wide, std::move(observed), border, threads);
  });
}

// Sets the off-diagonal entries of the precision that observations add: `across` for pairs of a point and an effect, in
// the order of `columns`, and `within` for pairs of effects, in the order of the matrix `within` (see
// posterior_hold_effects()).
// [[Rcpp::export(rng = false)]]
void posterior_observe(SEXP held, Rcpp::NumericVector across, Rcpp::NumericVector within) {
  guard([&] {
    Posterior& posterior = posterior_of(held);
    of_length(within, posterior.observed_within());
    posterior.observe(of_length(across, posterior.observed()), within.begin());
    return 0;
  });
}

// Sets the entries of the border. Observation k belongs to point of[k] and has precision share[k]; column k of
// `columns` has its effects, and column k of `values` the factors of these effects.
// [[Rcpp::export(rng = false)]]
void posterior_observe_border(SEXP held, Rcpp::IntegerVector of, Rcpp::IntegerMatrix columns,
                              Rcpp::NumericMatrix values, Rcpp::NumericVector share) {
  guard([&] {
    Posterior& posterior = posterior_of(held);
    const Count count = of.size(), each = columns.nrow();
    const Count effects = posterior.effects() + posterior.border().width, places = posterior.length() - effects;
    if (columns.ncol() != count || values.size() != columns.size()) throw InputError("dim", "each point has effects");
    const auto outside = [](const auto& numbers, Count most) {
      return std::any_of(numbers.begin(), numbers.end(), [&](int k) { return k < 1 || k > most; });
    };
    if (outside(of, places) || outside(columns, effects)) throw InputError("input", "there is no such effect");
    posterior.observe_border({count, each, of.begin(), columns.begin(), values.begin(), of_length(share, count)});
    return 0;
  });
}

// [[Rcpp::export(rng = false)]]
void posterior_fill(SEXP held, Rcpp::NumericMatrix weights, Rcpp::NumericVector sd, int threads) {
  guard([&] {
    Posterior& posterior = posterior_of(held);
    const Count points = posterior.points() - posterior.effects();
    of_length(weights, points * posterior.neighbours());
    posterior.fill(weights.begin(), of_length(sd, points), for_threads(threads));
    return 0;
  });
}

// Factorises Q + D for the prior precision Q and the diagonal matrix D, and returns the logarithm of the determinant;
// NaN if a pivot is not positive.
// [[Rcpp::export(rng = false)]]
double posterior_factor(SEXP held, Rcpp::NumericVector diagonal, int threads) {
  return guard([&] {
    Posterior& posterior = posterior_of(held);
    const double* const d = of_length(diagonal, posterior.points());
    return posterior.factor(d, for_threads(threads)) ? posterior.logdet() : R_NaN;
  });
}

// Solves (Q + D) x = b by conjugate gradients, where x is also the starting value. An attribute of the result has the
// number of steps for each column.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix posterior_solve(SEXP held, Rcpp::NumericVector diagonal, Rcpp::NumericMatrix b,
                                    Rcpp::NumericMatrix x, double tol, int most, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    const Count n = posterior.length();
    of_length(x, n * b.ncol());
    Rcpp::IntegerVector steps(b.ncol());
    const double *const d = of_length(diagonal, posterior.points()), *const begin = x.begin();
    int* const taken = steps.begin();
    Rcpp::NumericMatrix out = by_columns(posterior, b, threads, [=, &posterior](Columns part) {
      const std::vector<double> start = inward(posterior, begin + part.first * n, part.count);
      std::copy(start.begin(), start.end(), part.to);
      posterior.solve_columns(d, part.from, part.to, part.count, tol, most, part.settings, taken + part.first);
    });
    out.attr("steps") = steps;
    return out;
  });
}

// (Q + D) x for the prior precision Q and the diagonal matrix D.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix posterior_product(SEXP held, Rcpp::NumericVector diagonal, Rcpp::NumericMatrix x, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    const double* const d = of_length(diagonal, posterior.points());
    return by_columns(posterior, x, threads, [=, &posterior](Columns part) {
      posterior.multiply(d, part.from, part.to, part.count, part.settings);
    });
  });
}

// (L L')^-1 b for the Cholesky factor L that posterior_factor() computed last.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix posterior_precondition(SEXP held, Rcpp::NumericMatrix b, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    return by_columns(posterior, b, threads,
                      [&](Columns part) { posterior.solve_by_factor(part.from, part.to, part.count, part.settings); });
  });
}

// Runs conjugate gradients for (Q + D) x = L z for each column z, preconditioned by the factor L L' that
// posterior_factor() computed last. Returns the coefficients of each step (`steps` and `ratios`, see
// R/solve_lanczos.R), with one column per z, and NA after the last step.
// [[Rcpp::export(rng = false)]]
Rcpp::List posterior_lanczos(SEXP held, Rcpp::NumericVector diagonal, Rcpp::NumericMatrix z, double tol, int most,
                             int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    const Count n = posterior.length(), columns = z.ncol();
    const double *const d = of_length(diagonal, posterior.points()), *const from = of_length(z, n * columns);
    std::vector<neighbours::LanczosRun> runs(static_cast<size_t>(columns));
    in_groups(columns, n, threads, [&](Count first, Count count, const Settings& settings) {
      std::vector<double> b = inward(posterior, from + first * n, count), x(b.size(), 0.0);
      for (Count c = 0; c < count; ++c) posterior.multiply_by_factor(b.data() + c * n, settings);
      int steps[neighbours::lanes];
      posterior.solve_columns(d, b.data(), x.data(), count, tol, most, settings, steps, &runs[size_t(first)]);
    });
    Rcpp::NumericMatrix step(most, int(columns)), ratio(most, int(columns));
    std::fill(step.begin(), step.end(), NA_REAL), std::fill(ratio.begin(), ratio.end(), NA_REAL);
    for (Count c = 0; c < columns; ++c) {
      const neighbours::LanczosRun& run = runs[size_t(c)];
      std::copy(run.step.begin(), run.step.end(), step.begin() + c * most);
      std::copy(run.ratio.begin(), run.ratio.end(), ratio.begin() + c * most);
    }
    return named_list({{"step", step}, {"ratio", ratio}});
  });
}

// The diagonal of the inverse of the factorised precision. The posterior keeps other entries of the inverse for the
// functions below.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector posterior_variances(SEXP held, int threads) {
  return guard([&] {
    Posterior& posterior = posterior_of(held);
    posterior.invert(for_threads(threads));
    std::vector<double> variances = posterior.variances();
    const neighbours::Border::Matrix border = posterior.border().covariance();
    for (Count k = 0; k < border.rows(); ++k) variances.push_back(border(k, k));
    Rcpp::NumericVector out(posterior.length());
    outward(posterior, variances.data(), out.begin());
    return out;
  });
}

// The variances of weighted sums of points, one sum per set. If a point contributes less than the share `nothing` to
// the variance of a sum, the earlier points that only this point reaches are ignored.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector posterior_sums(SEXP held, Rcpp::IntegerMatrix near, Rcpp::NumericMatrix weights, double nothing,
                                   int threads) {
  return guard([&] {
    Rcpp::NumericVector out(weights.ncol());
    sum_points(posterior_of(held), near, weights, nothing, threads, out.begin(), nullptr);
    return out;
  });
}

// A matrix with one column per weighted sum of points; the inner product of two columns is the covariance of two sums.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix posterior_parts(SEXP held, Rcpp::IntegerMatrix near, Rcpp::NumericMatrix weights, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    Rcpp::NumericVector variances(weights.ncol());
    Rcpp::NumericMatrix out = zeros(int(posterior.length()), weights.ncol());
    sum_points(posterior, near, weights, posterior.rows().nothing, threads, variances.begin(), out.begin());
    return out;
  });
}

// The derivatives that Posterior::differentiate() computes.
// [[Rcpp::export(rng = false)]]
Rcpp::List posterior_differentiate(SEXP held, Rcpp::NumericVector f, Rcpp::NumericVector g, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    const Count n = posterior.points();
    Rcpp::NumericMatrix weights = zeros(posterior.neighbours(), int(n));
    Rcpp::NumericVector sd = zeros(double(n));
    const std::vector<double> along = inward(posterior, of_length(f, posterior.length())),
                              other = inward(posterior, of_length(g, posterior.length()));
    posterior.differentiate(along.data(), other.data(), weights.begin(), sd.begin(), for_threads(threads));
    return named_list({{"weights", weights}, {"log_sd", sd}});
  });
}

// The variances of sums: sum k is the value of a point plus the effects in column k of `columns`, which are multiplied
// by column k of `values`. Each column of `columns` is ascending. posterior_variances() must be called first.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector posterior_with_effects(SEXP held, Rcpp::IntegerVector points, Rcpp::IntegerMatrix columns,
                                           Rcpp::NumericMatrix values, int threads) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    const Count n = points.size(), each = columns.nrow();
    if (columns.ncol() != n || values.size() != columns.size()) throw InputError("dim", "each point has effects");
    Rcpp::NumericVector out(n);
    const int *const of = columns.begin(), *const at = points.begin();
    const double* const value = values.begin();
    double* const to = out.begin();
    parallel_for(n, std::min<Count>(threads, n), with_threads(threads), [&](Count i, Count) {
      to[i] =
          posterior.variance_of_sum(Count(posterior.inner(size_t(at[i] - 1))), of + i * each, value + i * each, each);
    });
    return out;
  });
}

// The covariances of the pairs of effects that are observed together. posterior_variances() must be called first.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector posterior_effects(SEXP held) {
  return guard([&] {
    const Posterior& posterior = posterior_of(held);
    Rcpp::NumericVector out(posterior.observed_within());
    posterior.invert_within(out.begin());
    return out;
  });
}

// The covariance matrix of the effects of the border.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix posterior_border(SEXP held) {
  return guard([&] {
    const neighbours::Border::Matrix border = posterior_of(held).border().covariance();
    return Rcpp::NumericMatrix(int(border.rows()), int(border.cols()), border.data());
  });
}
