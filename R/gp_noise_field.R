# Estimates the variances of the random coefficients of smooths in predictors (data_predictor_smooths.R).
#
# Let g be the random coefficients of the smooths, with the prior N(0, v_k I) for smooth k, and t all other parameters.
# For given variances v, the search maximises the penalised log-likelihood in (t, g). Let H be the observed information
# of the log-likelihood in g at the maximum, P the diagonal matrix of the inverse variances of g, and q the number of
# elements of g. The Laplace approximation of the marginal likelihood is
#   log p(y) = log p(y | t, g) + log N(g; 0, P^-1) + q / 2 log(2 pi) - log det(H + P) / 2.
# If the change of H with v is neglected, the marginal likelihood is stationary in v_k if v_k = sum(g_k^2) / (q_k -
# tr((H + P)^-1)_k / v_k) (Wood and Fasiolo 2017), where g_k are the q_k coefficients of smooth k, and tr(M)_k is the
# sum of the diagonal entries of M for these coefficients. This equation is iterated. The search for each new v begins
# at the end of the previous search.

# The starting values of the variances, such that a smooth has a standard deviation of about 1/2 on the scale of the
# predictor.
starting_variances <- function(random, z) {
  vapply(random, function(k) 0.25 / mean(rowSums(z[, k, drop = FALSE]^2)), 0)
}

# The penalty of the coefficients of the predictor that has smooths, a quadratic form. A list of `name`, the parameter
# that the predictor describes; `rows`, the positions of the coefficients among the parameters of a search, whose first
# `before` parameters belong to the covariance; and `matrix`, the matrix of the quadratic form. NULL without smooths.
penalty_of <- function(family, before) {
  smooth <- Filter(function(predictor) length(predictor$variances), family$predictors)
  if (!length(smooth)) return(NULL)
  name <- names(smooth)[[1]]
  random <- smooth[[1]]$column$random
  turn <- smooth[[1]]$turn
  inverse <- rep(0, nrow(turn))
  inverse[unlist(random)] <- rep(1 / smooth[[1]]$variances, lengths(random))
  list(name = name, rows = before + which(family$parameters$of == name), matrix = crossprod(turn, inverse * turn))
}

# -2 times the log density of the penalised coefficients, without constants, and its derivatives, in the form of
# prior_deviance().
penalty_deviance <- function(penalty, theta) {
  v <- theta[penalty$rows]
  slope <- as.vector(penalty$matrix %*% v)
  list(value = sum(v * slope), gradient = 2 * slope, bend = 2 * penalty$matrix)
}

# The problem, the likelihood and the result of the search at the estimated variances of the smooths.
with_noise_field <- function(problem, likelihood, search, how, estimate, call, most = 30, tol = 0.01) {
  penalty <- problem$outer$penalty
  if (is.null(penalty) || estimate == "none") {
    return(list(problem = problem, likelihood = likelihood, search = search))
  }
  for (step in seq_len(most)) {
    marginal <- laplace_of_smooths(problem, likelihood, search$theta)
    moved <- log(marginal$next_variances / marginal$variances)
    idle <- marginal$variances < 1e-4 * problem$start$variances & moved < 0
    if (all(abs(moved) < tol | idle)) break
    problem$data$family$predictors[[penalty$name]]$variances <-
      marginal$variances * exp(pmin(pmax(moved, -4), 4))
    problem$outer$penalty <- penalty_of(problem$data$family, nrow(problem$model$parameters))
    likelihood <- likelihood_for(problem$data, problem$outer, how)
    target <- family_target(problem, likelihood, how)
    end <- descend(search$theta, target, replace(how$control, "gain", 1e-8))
    if (is_singular(end)) stop_no_mode(call)
    search <- resumable(end, target)
  }
  list(problem = problem, likelihood = likelihood, search = search, marginal = marginal)
}

# A list of `value`, the log marginal likelihood minus the log-likelihood at theta; `next_variances`, the variances of
# the next iteration; and `edf`, the effective degrees of freedom of the random coefficients.
laplace_of_smooths <- function(problem, likelihood, theta, step = 1e-3) {
  penalty <- problem$outer$penalty
  predictor <- problem$data$family$predictors[[penalty$name]]
  rows <- penalty$rows
  slope <- function(v) likelihood$evaluate(replace(theta, rows, v), search = TRUE)$gradient()[rows] / 2
  v <- theta[rows]
  penalised <- vapply(seq_along(v), function(k) {
    move <- replace(numeric(length(v)), k, step)
    (slope(v + move) - slope(v - move)) / (2 * step)
  }, v)
  back <- backsolve(predictor$turn, diag(length(v)))
  random <- predictor$column$random
  every <- unlist(random)
  H <- symmetric(crossprod(back, penalised %*% back))[every, every, drop = FALSE]
  g <- as.vector(predictor$turn %*% v)
  inverse <- chol2inv(chol(H))
  share <- split(diag(inverse), rep(seq_along(random), lengths(random)))
  variances <- predictor$variances
  squares <- vapply(random, function(k) sum(g[k]^2), 0)
  free <- lengths(random) - vapply(share, sum, 0) / variances
  value <- -sum(squares / variances + lengths(random) * log(variances)) / 2 - determinant(H)$modulus[[1]] / 2
  list(value = value, variances = variances, edf = free,
       next_variances = stats::setNames(squares / pmax(free, 1e-8), names(random)))
}

# The fit with the marginal log-likelihood. The degrees of freedom of this fit count the variances of the smooths
# instead of the random coefficients.
with_marginal_likelihood <- function(fit, marginal) {
  if (is.null(marginal)) return(fit)
  fit$loglik <- fit$loglik + marginal$value
  random <- fit$family$predictors[[fit$outer$penalty$name]]$column$random
  fit$df <- fit$df - sum(lengths(random)) + length(random)
  fit$family$predictors[[fit$outer$penalty$name]]$edf <- marginal$edf
  fit
}

# The indices of the coefficients of a predictor that are not random.
fixed_coefficients <- function(predictor) {
  setdiff(seq_along(predictor$column$names), unlist(predictor$column$random))
}

# The smooths of a predictor, as print() shows them.
smooth_words <- function(predictor) {
  if (!length(predictor$column$random)) return(NULL)
  paste0(names(predictor$column$random), " (variance ", signif(predictor$variances, 4),
         if (length(predictor$edf)) paste0(", edf ", signif(predictor$edf, 3)), ")")
}
