# The interface of a likelihood: searches, fits and posterior draws use only these functions of a likelihood.
#
# A likelihood is a list of functions, the arguments of new_likelihood(). Its function evaluate() returns the state at
# parameters theta; the functions of a state are the arguments of new_state(). Arguments without a default are required.
# The default of an optional argument is correct for a likelihood that lacks the feature, so that callers need not test
# for the feature. lik_exact.R, lik_iterative.R, lik_vecchia.R, lik_vif.R, lik_laplace.R and lik_laplace_vecchia.R
# implement the interface; likelihood_for() chooses a likelihood by the method of a fit.

# evaluate(theta, profile, search)  the state at theta. With `profile`, the value is the minimum over all common
#                factors of the variances. With `search`, the state has derivatives; it has no value if computing the
#                value would take longer than a step of the search
# dense          whether the value is exact, from a Cholesky factor of the whole matrix
# costly         whether a value takes as long as a step of a search; if so, candidates are not compared by their values
# subset_sizes() the sizes of two subsets of the observations: `dense`, for a preliminary search with the dense
#                likelihood, and `same`, for a preliminary search with this likelihood; 0 for no search
# sufficient_precision(theta, precision)  the precision with which the likelihood continues if the user has set
#                `precision`
# suited_settings(theta)  the settings `method` and `neighbours` with which the likelihood continues, if the likelihood
#                can change them; otherwise NULL
# kept_factor()  the Cholesky factor that is stored in a fit
# Functions of an approximation by neighbours:
#   count()                the number of neighbours; 0 without such an approximation
#   use(count)             uses only the `count` nearest neighbours in later evaluations
#   few()                  the number of neighbours of the first search; 0 if no search has fewer than count()
#   outdated(theta)        whether the nearest points at theta differ from the current neighbours
#   regroup(theta)         makes the nearest points at theta the neighbours
#   double()               doubles the number of neighbours
#   doubled(theta, state)  the changes of the state if the number of neighbours is doubled (lik_doubled.R); NULL if all
#                points are already neighbours
#   kept_neighbours(theta) the description of the neighbours that is stored in a fit
#   sets()                 the current conditioning sets
new_likelihood <- function(evaluate, dense = FALSE, costly = FALSE,
                           subset_sizes = function() c(dense = 0, same = 0),
                           sufficient_precision = function(theta, precision) precision,
                           suited_settings = function(theta) NULL, kept_factor = function() NULL,
                           count = function() 0L, use = function(count) invisible(), few = function() 10L,
                           outdated = function(theta) FALSE, regroup = function(theta) invisible(),
                           double = function() invisible(), doubled = function(theta, state) NULL,
                           kept_neighbours = function(theta) NULL, sets = function() NULL) {
  evaluate <- timed_function("field", evaluate)
  # the value by which a search compares parameters; for a dense likelihood, search = TRUE prevents rounding errors from
  # deciding the comparison
  value <- function(theta, profile = FALSE) evaluate(theta, profile, search = dense)$value
  structure(c(mget(names(formals())), value = value), class = "gp_likelihood")
}

# results        a list with `value`, which is -2 log-likelihood, and with elements for predictions
# gradient()     the derivatives of the value with respect to theta
# information(profiled)  twice an information matrix of theta: average, expected or observed, depending on the method;
#                with `profiled`, for the value with the scale profiled out. Callers call information() after gradient()
#                and before the next evaluate()
# has_value      FALSE for a state with an estimated gradient but no value
# estimate(theta)  the value at theta with its standard error `logdet_error`
# rounding, resolution  the change of the log-likelihood by rounding, and the smallest difference that exceeds rounding
# probes         the number of random vectors of an estimated gradient
# noise()        the covariance matrix of an estimated gradient over random draws of the probes
# draw_probes(number)  draws new probes for later states
# sharpen()      reduces the residuals of the probes; FALSE if this is not possible
# warn()         warns if the results of the state are unreliable
new_state <- function(results, gradient, information, has_value = TRUE,
                      estimate = function(theta) list(value = results$value, logdet_error = 0), rounding = 0,
                      resolution = 0, probes = 0, noise = function() 0, draw_probes = function(number) invisible(),
                      sharpen = function() FALSE, warn = function() invisible()) {
  gradient <- timed_function("field", gradient)
  information <- timed_function("field", information)
  structure(c(results, mget(setdiff(names(formals()), "results"))), class = "gp_likelihood_state")
}

# The state if the covariance matrix is not positive definite. `bad` is the row where the factorisation failed.
# only_rounded() is TRUE if the matrix would be positive definite in float64.
singular_state <- function(bad = 1L, only_rounded = function() FALSE) {
  structure(list(value = Inf, has_value = TRUE, bad = bad, only_rounded = only_rounded), class = "gp_likelihood_state")
}

is_singular <- function(state) identical(state$value, Inf)

# The likelihood of a fit or, if there are priors, the likelihood multiplied by the prior density of the parameters.
likelihood_for <- function(data, model, how) {
  likelihood <- if (is.null(data$family)) {
    switch(how$method, exact = exact_likelihood(data, model, how$reml, how$backend),
           vecchia = neighbour_likelihood(data, model, how), vif = vif_likelihood(data, model, how),
           iterative = iterative_likelihood(data, model, how))
  } else switch(how$method, exact = laplace_likelihood(data, model, how), vecchia = vecchia_laplace(data, model, how))
  with_prior(likelihood, model)
}

# The settings for the dense likelihood of a subset of the observations.
dense_settings <- function(how) {
  replace(how, c("method", "backend"), list("exact", dense_backend(how$backend)))
}
