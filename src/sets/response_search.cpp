// Finds the optimum of each response by BFGS steps within bounds. The search starts with the expected information
// matrix.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpu/cpu.h"
#include "run/parallel_for.h"
#include "sets/quasi_newton.h"
#include "sets/responses.h"

namespace kernops {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The profile likelihood of one response, as the target of a search.
class ResponseLikelihood {
 public:
  ResponseLikelihood(const ResponseRequest& request, const ResponseParameters& parameters, Count number)
      : request_(request), parameters_(parameters), rows_(parameters.searched()), sets_(request.sets) {
    const size_t n = size_t(sets_.n);
    values_.resize(n * (1 + sets_.columns));
    std::copy_n(request.responses + number * sets_.n, n, values_.begin());
    std::copy_n(sets_.values, n * sets_.columns, values_.begin() + n);
    sets_.values = values_.data(), ++sets_.columns;
    sets_.settings.threads = 1, sets_.settings.keep_going = nullptr;
  }

  // Evaluates the likelihood at the point s whose searched parameters have the values `moved`.
  SearchPoint visit(const VectorXd& moved) {
    ++evaluations, latest = moved;
    SearchPoint point{moved};
    const VectorXd s = whole(moved), theta = parameters_.theta(s);
    sets_.theta = theta.data(), sets_.slopes_of_noise = theta[sets_.nugget];
    const SetTotals totals = cpu::set_sums(sets_);
    if (totals.bad >= 0) return point;
    const double* sums = totals.sums.data();
    profile = profile_of(sums + 1, sets_.columns, sums[0], double(sets_.n), request_.reml);
    const ProfileSlopes slopes = slopes_of(profile, sums, sets_.columns, parameters_.size());
    const MatrixXd turn = parameters_.slopes(s);
    point.gradient = turn.transpose() * slopes.gradient;
    point.information = turn.transpose() * slopes.information * turn;
    if (point.gradient.allFinite() && point.information.allFinite()) point.value = profile.value;
    return point;
  }

  VectorXd whole(const VectorXd& moved) const {
    VectorXd s = VectorXd::Zero(parameters_.size());
    for (size_t k = 0; k < rows_.size(); ++k) s[rows_[k]] = moved[Eigen::Index(k)];
    return s;
  }
  VectorXd part(const VectorXd& s) const {
    VectorXd moved(rows_.size());
    for (size_t k = 0; k < rows_.size(); ++k) moved[Eigen::Index(k)] = s[rows_[k]];
    return moved;
  }

  int evaluations = 0;
  VectorXd latest;  // the point that was evaluated last
  Profile profile;  // the profile at `latest`

 private:
  const ResponseRequest& request_;
  const ResponseParameters& parameters_;
  const std::vector<int> rows_;
  SetRequest sets_;
  std::vector<double> values_;
};

// Selects the starts from which searches probably lead to separate optima; the start with the lowest value comes first.
std::vector<int> promising(const double* values, Count stride, const ResponseStarts& starts) {
  std::vector<int> optima;
  const auto value = [&](int k) { return values[k * stride]; };
  for (int k = 0; k < int(starts.s.cols()); ++k) {
    bool lowest = std::isfinite(value(k));
    for (int other = 0; lowest && other < int(starts.near.rows()); ++other)
      lowest = value(k) <= value(starts.near(other, k));
    if (lowest) optima.push_back(k);
  }
  std::sort(optima.begin(), optima.end(), [&](int a, int b) { return value(a) < value(b); });
  while (!optima.empty() &&
         (int(optima.size()) > starts.most || value(optima.back()) > value(optima[0]) + starts.within))
    optima.pop_back();
  return optima;
}

// Searches from one start within narrow bounds, in which ranges end at their ridges. A second search within the wide
// bounds follows if a range is at its ridge and the log-likelihood still increases with this range, at a slope of more
// than 0.05. Beyond the ridge, the log-likelihood can increase by about this slope. The result of the second search is
// accepted only if the log-likelihood is higher by more than 0.1.
SearchEnd end_from(const SearchTarget& target, const VectorXd& start, const Bounds& narrow, const Bounds& wide,
                   double below) {
  SearchEnd end = quasi_newton(target, start, narrow, below);
  bool promising = false;
  for (Eigen::Index k = 0; k < start.size() && std::isfinite(end.point.value); ++k)
    if (narrow.high[k] < wide.high[k] && end.point.s[k] >= narrow.high[k] && end.point.gradient[k] < -0.1)
      promising = true;
  if (!promising) return end;
  const SearchEnd farther = quasi_newton(target, end.point.s, wide, below);
  return farther.point.value < end.point.value - 0.2 ? farther : end;
}

ResponseOptimum optimum_of(ResponseLikelihood& likelihood, const ResponseParameters& parameters,
                           const ResponseStarts& starts, const std::vector<int>& from, double gain) {
  const VectorXd low = likelihood.part(parameters.low), high = likelihood.part(parameters.high),
                 ridge = likelihood.part(parameters.ridge);
  std::vector<bool> jumps;
  for (Eigen::Index k = 0; k < high.size(); ++k) jumps.push_back(ridge[k] < high[k]);
  const Bounds wide{low, high, jumps}, narrow{low, ridge.cwiseMin(high), jumps};
  const SearchTarget target{[&](const VectorXd& s) { return likelihood.visit(s); }, gain};
  SearchEnd best;
  for (int start : from) {
    SearchEnd end = end_from(target, likelihood.part(starts.s.col(start)), narrow, wide, best.point.value);
    if (!(end.point.value >= best.point.value)) best = std::move(end);
  }
  ResponseOptimum optimum;
  if (!std::isfinite(best.point.value)) return optimum;
  if (likelihood.latest != best.point.s) best.point = likelihood.visit(best.point.s);
  optimum.s = likelihood.whole(best.point.s), optimum.theta = parameters.theta(optimum.s);
  optimum.profile = likelihood.profile, optimum.information = best.point.information;
  optimum.evaluations = likelihood.evaluations, optimum.converged = best.converged;
  return optimum;
}

}  // namespace

std::vector<ResponseOptimum> response_optima(const ResponseRequest& request, const ResponseParameters& parameters,
                                             const ResponseStarts& starts, double gain) {
  MatrixXd theta(parameters.size(), starts.s.cols());
  for (int k = 0; k < int(starts.s.cols()); ++k) theta.col(k) = parameters.theta(starts.s.col(k));
  const std::vector<double> values = shared_values(request, theta);
  std::vector<ResponseOptimum> optima(size_t(request.count));
  const Settings& settings = request.sets.settings;
  parallel_for(request.count, std::min<Count>(settings.threads, request.count), settings, [&](Count number, Count) {
    ResponseLikelihood likelihood(request, parameters, number);
    const std::vector<int> from = promising(values.data() + number, request.count, starts);
    optima[size_t(number)] = optimum_of(likelihood, parameters, starts, from, gain);
  });
  return optima;
}

}  // namespace kernops
