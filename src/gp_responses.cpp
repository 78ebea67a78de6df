// Many responses at the same points, each with its own parameters (R/solve_responses.R).
#include "sets/responses.h"

#include "held_sets.h"

using namespace kernops;

namespace {

using Numbers = Rcpp::NumericVector;

ResponseRequest request_of_responses(const Rcpp::List& operators, const Numbers& theta, int nugget,
                                     const HeldSets& held, const Rcpp::NumericMatrix& responses,
                                     const Rcpp::List& settings) {
  if (responses.nrow() != held.points.nrow() || held.neighbours.ncol() != held.points.nrow())
    throw InputError("dim", "each point has a set and a value of each response");
  ResponseRequest request{request_of(operators, theta, nugget, held, INFINITY, settings), responses.begin(),
                          responses.ncol(), false};
  request.sets.values = held.values.begin(), request.sets.columns = held.values.ncol();
  return request;
}

Eigen::VectorXd vector_of(const Rcpp::List& list, const char* name) {
  const Numbers values = list[name];
  return Eigen::Map<const Eigen::VectorXd>(values.begin(), values.size());
}

ResponseParameters parameters_of(const Rcpp::List& list) {
  ResponseParameters parameters;
  const Rcpp::IntegerVector roles = list["role"];
  for (int role : roles) parameters.roles.push_back(Role(role - 1));
  parameters.value = vector_of(list, "value"), parameters.unit = vector_of(list, "unit");
  parameters.low = vector_of(list, "low"), parameters.high = vector_of(list, "high");
  parameters.ridge = vector_of(list, "ridge");
  return parameters;
}

ResponseStarts starts_of(const Rcpp::List& list) {
  const Rcpp::NumericMatrix s = list["s"];
  const Rcpp::IntegerMatrix near = list["near"];
  ResponseStarts starts{Eigen::Map<const Eigen::MatrixXd>(s.begin(), s.nrow(), s.ncol()),
                        Eigen::Map<const Eigen::MatrixXi>(near.begin(), near.nrow(), near.ncol()).array() - 1,
                        Rcpp::as<double>(list["within"]), Rcpp::as<int>(list["most"])};
  if (starts.near.cols() != starts.s.cols()) throw InputError("dim", "each start has neighbours");
  return starts;
}

void put(const Eigen::MatrixXd& from, double* to, size_t number) {
  std::copy_n(from.data(), from.size(), to + number * size_t(from.size()));
}

}  // namespace

// Fits each column of `responses`. The result has an element for each member of ResponseOptimum, with NA for columns
// that have no optimum.
// [[Rcpp::export(rng = false)]]
Rcpp::List responses_optima(Rcpp::List operators, SEXP held, Rcpp::NumericMatrix responses, Rcpp::List parameters,
                            Rcpp::List starts, bool reml, Rcpp::List settings) {
  return guard_new([&] {
    const HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    const ResponseParameters searched = parameters_of(parameters);
    const Numbers theta = parameters["value"];
    const int nugget =
        1 + int(std::find(searched.roles.begin(), searched.roles.end(), Role::nugget) - searched.roles.begin());
    ResponseRequest request = request_of_responses(operators, theta, nugget, sets, responses, settings);
    request.reml = reml;
    const std::vector<ResponseOptimum> optima =
        response_optima(request, searched, starts_of(starts), Rcpp::as<double>(starts["gain"]));
    const double count = double(optima.size()), size = searched.size(), free = double(searched.searched().size()),
                 columns = sets.values.ncol();
    Numbers theta_values = new_numbers(size * count), s = new_numbers(size * count), value = new_numbers(count),
            scale = new_numbers(count), coefficients = new_numbers(columns * count),
            information = new_numbers(free * free * count), evaluations = new_numbers(count),
            converged = new_numbers(count);
    for (Numbers* numbers : {&theta_values, &s, &value, &scale, &coefficients, &information, &evaluations, &converged})
      std::fill(numbers->begin(), numbers->end(), NA_REAL);
    for (size_t j = 0; j < optima.size(); ++j) {
      const ResponseOptimum& optimum = optima[j];
      evaluations[j] = optimum.evaluations, converged[j] = optimum.converged;
      if (!std::isfinite(optimum.profile.value)) continue;
      value[j] = optimum.profile.value, scale[j] = optimum.profile.scale;
      put(optimum.theta, theta_values.begin(), j), put(optimum.s, s.begin(), j);
      put(optimum.information, information.begin(), j);
      put(-optimum.profile.contrast.tail(sets.values.ncol()), coefficients.begin(), j);
    }
    return named_list({{"theta", theta_values},
                       {"s", s},
                       {"value", value},
                       {"scale", scale},
                       {"coefficients", coefficients},
                       {"information", information},
                       {"evaluations", evaluations},
                       {"converged", converged}});
  });
}

// Data of the likelihood of all responses at one theta: the log-determinant of the covariance, the Cholesky factor of
// the Gram matrix of the whitened trend, the sum of squares of each whitened response, and the inner products of trend
// columns and responses. The result is NULL if the covariance is singular.
// [[Rcpp::export(rng = false)]]
SEXP responses_products(Rcpp::List operators, Rcpp::NumericVector theta, int nugget, SEXP held,
                        Rcpp::NumericMatrix responses, Rcpp::List settings) {
  return guard_new([&]() -> SEXP {
    const HeldSets& sets = *Rcpp::XPtr<HeldSets>(held);
    const ResponseRequest request = request_of_responses(operators, theta, nugget, sets, responses, settings);
    const SharedProducts products =
        shared_products(request, {request.responses, request.sets.n, request.count}, theta.begin());
    if (!products.regular) return R_NilValue;
    const int p = request.sets.columns;
    Rcpp::NumericMatrix root = zeros(p, p), across = zeros(p, responses.ncol());
    put(products.root, root.begin(), 0), put(products.across, across.begin(), 0);
    return named_list({{"logdet", Rcpp::wrap(products.logdet)},
                       {"root", root},
                       {"squares", numbers_of(products.squares)},
                       {"across", across}});
  });
}
