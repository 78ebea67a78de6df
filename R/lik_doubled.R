# The change of a likelihood at the same parameters if the number of neighbours is doubled: `loglik`, the gain of the
# log-likelihood, and `gradient`, the change of the derivatives of -2 log-likelihood.

change_between <- function(before, after) {
  if (is_singular(after)) return(list(loglik = -Inf))
  list(loglik = (before$value - after$value) / 2, gradient = after$gradient() - before$gradient())
}

# The maximum number of points from which the changes are estimated; these points are evenly spaced in the ordering.
compared_points <- 1e4

# The changes from counts[1] to counts[2] neighbours, estimated from some of the points. The coefficients of the trend
# are fixed, because they hardly change with more neighbours.
change_of_some <- function(sets, operators, model, theta, contrast, counts,
                           some = some_positions(nrow(sets$near), compared_points)) {
  subset <- sets_of_some(sets, some, sets$search(counts[[2]], of = some))$held
  share <- length(some) / nrow(sets$near)
  part <- function(count) {
    totals <- set_totals(operators, theta, model$nugget, subset, TRUE, count)
    sums <- set_moments(totals, ncol(sets$values), length(theta), TRUE)
    if (sums$bad > 0) return(singular_state())
    form <- function(gram) sum(contrast * (gram %*% contrast))
    list(value = (sums$logdet + form(sums$gram)) / share,
         gradient = function() (sums$logdet_derivative + apply(sums$gram_derivative, 3, form)) / share)
  }
  change_between(part(counts[[1]]), part(counts[[2]]))
}

# The conditioning sets of some points, with their neighbours among all points.
sets_of_some <- function(sets, some, neighbours) {
  used <- renumbered_neighbours(neighbours, some, nrow(sets$near))
  rows <- used$rows
  parts <- list(points = sets$points[rows, , drop = FALSE], noise = sets$noise[rows],
                noise_derivative = sets$noise_derivative[rows], values = sets$values[rows, , drop = FALSE])
  with_neighbours(parts, used$neighbours)
}

# Renumbers neighbours among n points. Returns a list of two elements: `rows` has the indices of all neighbours,
# followed by the argument `rows`; in `neighbours`, the position of a neighbour in the new `rows` replaces its index.
renumbered_neighbours <- function(neighbours, rows, n) {
  near <- which(tabulate(neighbours, n) > 0)
  neighbours[] <- c(0L, replace(integer(n), near, seq_along(near)))[neighbours + 1L]
  list(rows = c(near, rows), neighbours = neighbours)
}

# The movement of the estimates that a change of the gradient implies: a step of Newton's method from the optimum of a
# search, with the information at the optimum. Returns `theta` after the step, and `size`, the largest movement of a
# parameter in standard errors. If the standard error of a positive parameter is below a tenth of the parameter, a tenth
# of the parameter replaces the standard error, because smaller movements are irrelevant.
moved_estimates <- function(change, search, model) {
  none <- list(theta = search$theta, size = 0)
  parameters <- model$parameters
  estimated <- which(!parameters$fixed)
  if (is.null(search$information) || is.null(change$gradient) || !length(estimated)) return(none)
  some <- parameters[estimated, ]
  s <- to_search(some, search$theta[estimated])
  inner <- s > to_search(some, some$lower) & s < to_search(some, some$upper) & is.finite(diag(search$information))
  if (!any(inner)) return(none)
  information <- search$information[inner, inner, drop = FALSE]
  gradient <- (change$gradient * search_slope(parameters, search$theta))[estimated][inner]
  step <- newton_step(gradient, positive_definite(information), s[inner], rep(-Inf, sum(inner)), rep(Inf, sum(inner)))
  variances <- diag(as.matrix(inverse_information(information / 2)))
  se <- pmax(sqrt(pmax(variances, 0)), ifelse(some$log[inner], 0.1, 0))
  s[inner] <- pmin(pmax(s[inner] + step, to_search(some, some$lower)[inner]), to_search(some, some$upper)[inner])
  list(theta = replace(search$theta, estimated, from_search(some, s)), size = max(0, abs(step) / se, na.rm = TRUE))
}
