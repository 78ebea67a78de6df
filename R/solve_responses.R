# Many responses at the same points. The covariance has the same form for all responses, and separate parameters for
# each response (src/sets/responses.h).

# `responses` are in the order of the points of `sets`, a result of hold_sets() whose values are the columns of the
# trend. Element `nugget` of theta multiplies the noise. Returns a list of functions:
#   optima(parameters, starts, reml)  the optimum of the likelihood of each response. `parameters` is a result of
#      response_parameters(), and `starts` a result of response_starts(). Returns a list of `theta`, `s` and the
#      `coefficients` of the trend, with a column for each response, and of `value` (-2 log-likelihood), `scale`,
#      `evaluations` (their number) and `converged`, with an element for each response. The results are NA if the
#      covariance is singular at all starts
#   products(theta)  a list of `logdet`; `root`, the factor of the inner products of the whitened trend; `squares`, the
#      sums of squares of the whitened responses; and `across`, the inner products of the whitened responses and trend.
#      NULL if the covariance is singular
held_responses <- function(operators, nugget, sets, responses) {
  settings <- settings_of(operators$values)
  list(
    optima = function(parameters, starts, reml) {
      found <- responses_optima(lapply(operators, live), sets(), responses, parameters, starts, reml, settings)
      for (name in c("theta", "s", "coefficients")) found[[name]] <- matrix(found[[name]], ncol = ncol(responses))
      found
    },
    products = function(theta) {
      responses_products(lapply(operators["values"], live), theta, nugget, sets(), responses, settings)
    }
  )
}
