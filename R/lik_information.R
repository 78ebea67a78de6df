# The information on the parameters at the end of a search, and the inverse of this information.

# The covariance matrix of the estimated parameters of the covariance, on the scale of the search.
covariance_vcov <- function(object) {
  parameters <- object$model$parameters
  free <- which(!parameters$fixed & object$estimate != "none")
  if (!length(free)) return(matrix(0, 0, 0))
  average <- object$search$information
  information <- if (is.null(average) || has_fast_gradients(object)) observed_information(object, free) else average / 2
  names <- parameters$name[free]
  inverse <- inverse_information(information, bounded = names %in% object$search$at_bound)
  matrix(inverse, length(free), dimnames = list(names, names))
}

# The maximum number of observations for which differences of the gradient take at most some seconds.
differences_limit <- 2000

# TRUE if differences of the gradient take at most some seconds and have no Monte Carlo error.
has_fast_gradients <- function(object) {
  if (!is.null(object$blocks)) return(FALSE)
  n <- length(object$data$y)
  if (has_factor(object)) return(n <= differences_limit)
  n <= differences_limit / 2 && !likelihood_for(object$data, object$model, object$how)$costly
}

# The observed information, computed by differences of the gradient. Entries are NA if the covariance matrix is singular
# at neighbouring parameters, as may happen at the end of a search without noise.
observed_information <- function(object, free, step = 1e-3) {
  hessian <- gradient_differences(object, free, free, step)
  (hessian + t(hessian)) / 2
}

# The columns of the observed information for the parameters `along`.
gradient_differences <- function(object, free, along, step = 1e-3) {
  parameters <- object$model$parameters
  likelihood <- likelihood_for(object$data, object$model, object$how)
  s <- to_search(parameters, object$theta)
  slope <- function(s) {
    theta <- from_search(parameters, s)
    state <- likelihood$evaluate(theta, search = TRUE)
    if (is_singular(state)) return(rep(NA_real_, length(free)))
    (state$gradient() * search_slope(parameters, theta))[free] / 2
  }
  differences <- vapply(along, function(n) {
    move <- replace(numeric(length(s)), n, step)
    (slope(s + move) - slope(s - move)) / (2 * step)
  }, numeric(length(free)))
  matrix(differences, length(free))
}

# The inverse of the information on all parameters. If this matrix is singular, only the parameters that the data
# determine are included; if the matrix is still singular, only the `needed` parameters are included. Omitted and
# `bounded` parameters are NA in the result. The errors of all other parameters are conditional on the values of the
# omitted parameters.
inverse_information <- function(information, needed = rep(FALSE, nrow(information)),
                                bounded = rep(FALSE, nrow(information))) {
  n <- nrow(information)
  inverse <- matrix(NA_real_, n, n)
  if (!all(is.finite(information[needed, needed]))) return(inverse)
  determined <- needed | determined_parameters(information, needed | bounded)
  for (kept in list(which(determined), which(needed))) {
    block <- information[kept, kept, drop = FALSE]
    # some linear-algebra libraries decompose a matrix with NaN without an error
    root <- if (all(is.finite(block))) chol_or_null(block)
    if (is.null(root)) next
    inverse[kept, kept] <- chol2inv(root)
    break
  }
  inverse
}

# Combinations of the logarithms of parameters along which the information is below `least` are not determined, because
# the standard error is above 30. For example, a field whose variance is nearly zero has no information on its range,
# and along a ridge of the likelihood variance and range are not determined separately. A parameter that contributes to
# such a combination is not determined.
determined_parameters <- function(information, needed, least = 1e-3) {
  determined <- !needed & diag(information) > least & is.finite(rowSums(information))
  block <- information[determined, determined, drop = FALSE]
  if (!length(block)) return(determined)
  e <- eigen(block, symmetric = TRUE)
  share <- rowSums(e$vectors[, e$values <= least, drop = FALSE]^2)
  replace(determined, determined, share < 0.01)
}

warn_no_errors <- function(v) {
  lacking <- rownames(v)[is.na(diag(v))]
  if (!length(lacking)) return(invisible())
  cli::cli_warn(c("There {cli::qty(lacking)}{?is no standard error/are no standard errors} of {.code {lacking}}: the
                   likelihood hardly depends on {cli::qty(lacking)}{?it/them}, or is not at its maximum.",
                  i = "A component whose variance is estimated as next to zero, and parameters at a bound, may be left
                       out of the covariance or given values."),
                class = c("kernops_no_standard_error", "kernops_warning"))
}

# The average information: half the sum of the observed and the expected second derivatives of -2 log-likelihood
# (Gilmour et al. 1995), computed from the columns dK alpha. If the scale is profiled out, only the parts of these
# columns that are orthogonal to the column of the scale are used.
average_information <- function(derivatives, state, solve, profile, degrees) {
  solved <- solve(derivatives)
  across <- crossprod(state$z, derivatives)
  information <- (crossprod(derivatives, solved) - crossprod(across)) / state$scale
  if (profile) {
    along <- crossprod(derivatives, state$alpha) / state$scale
    information <- information - tcrossprod(along) / degrees
  }
  (information + t(information)) / 2
}
