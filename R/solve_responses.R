# Many responses at the same points, with one covariance and separate parameters for each response
# (src/sets/responses.h).

# Responses in the order of the held `sets`; the values of the sets are the columns of the trend. Row `nugget` of theta
# multiplies the noise. A list of functions:
#   optima(parameters, starts, reml)  the optimum of each response. `parameters` are response_parameters(); `starts` a
#      list of `s`, a column for each start on the scale of the search, `near`, the numbers of the nearest other starts
#      of each start, and the settings `within`, `most` and `gain` of the search. A list of `theta`, `s`, `coefficients`
#      of the trend, a column for each response, and of `value` (-2 log-likelihood), `scale`, the number of
#      `evaluations` and `converged` for each; NA if the covariance is singular at all starts
#   products(theta)  `logdet`, the factor `root` of the inner products of the whitened trend, the `squares` of the
#      whitened responses, and their inner products `across` with the trend; NULL if the covariance is singular
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
