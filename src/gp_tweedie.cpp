// The sums over the number j of gamma variables in the log density of the Tweedie family and in its derivatives, for
// R/lik_family_tweedie.R.
#include <Rmath.h>

#include "border.h"
#include "run/parallel_for.h"
#include "settings.h"

using namespace kernops;

namespace {

// log(j! Gamma(a j)) and its derivative with respect to a. If all rows have the same a, the values for each j are
// computed once and stored.
class Gammas {
 public:
  Gammas(const double* a, Count rows, double most) {
    if (most > double(rows) || std::any_of(a, a + rows, [&](double other) { return other != a[0]; })) return;
    for (double j = 1; j <= most; ++j) logarithms_.push_back(log_of(j, *a)), slopes_.push_back(slope_of(j, *a));
  }
  double logarithm(double j, double a) const { return logarithms_.empty() ? log_of(j, a) : logarithms_[size_t(j) - 1]; }
  double slope(double j, double a) const { return slopes_.empty() ? slope_of(j, a) : slopes_[size_t(j) - 1]; }

 private:
  static double log_of(double j, double a) { return Rf_lgammafn(j + 1) + Rf_lgammafn(a * j); }
  static double slope_of(double j, double a) { return j * Rf_digamma(a * j); }
  std::vector<double> logarithms_, slopes_;
};

// The arguments of tweedie_sums(), vectors with an element for each row.
struct Terms {
  const double *middle, *log_z, *change, *a, *slope;
  double wide(Count row) const { return 10 * std::sqrt(middle[row] / (1 + a[row])); }
  double first(Count row) const { return std::max(1.0, std::floor(middle[row] - wide(row) - 5)); }
  double last(Count row) const { return std::ceil(middle[row] + wide(row) + 25); }
};

// Sums the terms of a row in ascending order of j, and stops where terms are negligible: beyond the largest term, terms
// decrease faster and faster.
std::array<double, 4> sums_of(const Terms& of, Count row, const Gammas& gammas) {
  const double a = of.a[row], log_z = of.log_z[row], middle = of.middle[row];
  const auto term = [&](double j) { return j * log_z - gammas.logarithm(j, a); };
  std::array<double, 4> sums{term(std::nearbyint(middle)), 0, 0, 0};
  for (double j = of.first(row), last = of.last(row); j <= last; ++j) {
    const double weight = std::exp(term(j) - sums[0]);
    sums[1] += weight, sums[2] += weight * j;
    sums[3] += weight * (j * of.change[row] - of.slope[row] * gammas.slope(j, a));
    if (j > middle && weight <= 1e-20) break;
  }
  return sums;
}

}  // namespace

// Each row of the result has the logarithm of a reference term, at j = round(middle), and three sums over j near
// `middle`. The summands of the first sum are the terms exp(j log_z) / (j! Gamma(a j)), divided by the reference term.
// In the second sum, these summands are multiplied by j; in the third sum, the summands are multiplied by the
// derivatives of their logarithms with respect to the power. `change` is the derivative of log_z with respect to the
// power, and `slope` the derivative of a.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericMatrix tweedie_sums(Rcpp::NumericVector middle, Rcpp::NumericVector log_z, Rcpp::NumericVector change,
                                 Rcpp::NumericVector a, Rcpp::NumericVector slope, int threads) {
  return guard([&] {
    const Count n = middle.size(), unit = 512, units = ceil_div(n, unit);
    for (const R_xlen_t size : {log_z.size(), change.size(), a.size(), slope.size()})
      if (size != n) throw InputError("dim", "each point has a number");
    const Terms terms{middle.begin(), log_z.begin(), change.begin(), a.begin(), slope.begin()};
    Rcpp::NumericMatrix out(int(n), 4);
    double* const to = out.begin();
    double most = 0;
    for (Count row = 0; row < n; ++row) most = std::max(most, terms.last(row));
    const Gammas gammas(terms.a, n, most);
    parallel_for(units, std::max<Count>(1, std::min<Count>(threads, units)), with_threads(threads),
                 [&](Count part, Count) {
                   for (Count row = part * unit; row < std::min(n, (part + 1) * unit); ++row) {
                     const auto sums = sums_of(terms, row, gammas);
                     for (Count k = 0; k < 4; ++k) to[k * n + row] = sums[size_t(k)];
                   }
                 });
    return out;
  });
}
