# Several observations at one location, for the exact method: each location with several observations is replaced by one
# row of data.
#
# The noise variance of observation i is s_h / share_i, where s_h is the variance of the stratum h of the observation.
# There is one stratum if all noise is the nugget or all noise variances are known. In all other cases, there is one
# stratum for each pair of a known noise variance and a weight. With the sum p of shares at a location, the likelihood
# depends on the mean of the observations at the location, weighted by their shares, with noise variance s_h / p. The
# likelihood also depends on the inner products of the deviations from the means at the locations, for the response and
# for the columns of the trend. These inner products of the deviations are preserved in a few additional rows of data,
# data$within, whose covariance has noise but no field:
#   y, x, noise, weights   the data of these rows
#   spare                  for each row, the number of terms log s_h of the log-determinant beyond the first
#   constant               the terms of the log-determinant that do not depend on s_h
# data$location is the index of the row that replaces each observation.

# The problem with one row for each location, if there are far fewer locations than observations.
with_locations <- function(problem, method) {
  strata <- if (method == "exact") location_strata(problem$model, problem$data)
  if (is.null(strata)) return(problem)
  problem$every_u <- problem$data$u
  problem$data <- collapsed(problem$data, strata)
  problem
}

# The strata of noise; NULL if observations are not merged.
location_strata <- function(model, data) {
  n <- length(data$noise)
  noisy <- length(model$nugget) > 0 || any(data$noise > 0)
  alone <- !is_lmc(model$covariance) && !length(model$functional) && is.null(data$nodes) &&
    all_leaves(model$covariance, function(leaf) !length(leaf$sees))
  if (n < 2 || !noisy || !alone) return(NULL)
  strata <- noise_strata(model, data)
  strata$of <- paired_numbers(place_keys(model, data$u), strata$stratum)
  if (max(strata$of) <= 0.6 * n) strata
}

# A list of the `share` and the `stratum` of each observation, and of the `noise` and `weights` of each stratum, which
# determine s_h.
noise_strata <- function(model, data) {
  one <- rep(1L, length(data$noise))
  nugget <- length(model$nugget) > 0
  if (nugget && all(data$noise == 0)) return(list(share = data$weights, stratum = one, noise = 0, weights = 1))
  if (!nugget && all(data$noise > 0)) return(list(share = 1 / data$noise, stratum = one, noise = 1, weights = 1))
  stratum <- paired_numbers(data$noise, data$weights)
  first <- !duplicated(stratum)
  list(share = one, stratum = stratum, noise = data$noise[first], weights = data$weights[first])
}

# Numbers the distinct pairs (a, b) in the order of their first occurrence, and returns the number of each pair.
paired_numbers <- function(a, b) {
  first <- first_rows(cbind(a, b))
  cumsum(first == seq_along(first))[first]
}

collapsed <- function(data, strata) {
  location <- strata$of
  first <- which(!duplicated(location))
  total <- as.vector(rowsum(strata$share, location))
  columns <- unname(cbind(data$y, data$x))
  base <- columns[first, , drop = FALSE] # subtracted: sums of large numbers would lose digits
  means <- base + unname(rowsum(strata$share * (columns - base[location, , drop = FALSE]), location)) / total
  h <- strata$stratum[first]
  within <- sqrt(strata$share) * (columns - means[location, , drop = FALSE])
  x <- `colnames<-`(means[, -1, drop = FALSE], colnames(data$x))
  beside <- c(rows_within(within, strata, h), constant = sum(log(total)) - sum(log(strata$share)))
  replace(data, c("y", "x", "u", "rows", "block", "noise", "weights", "location", "within"), list(
    means[, 1], x, data$u[first, , drop = FALSE], data$rows[first], data$block[first], strata$noise[h] / total,
    strata$weights[h] * total, location, beside
  ))
}

# For each stratum, a few rows with the same inner products as the deviations of the stratum's observations from the
# means of their locations.
rows_within <- function(deviations, strata, h) {
  count <- length(strata$noise)
  degrees <- tabulate(strata$stratum, count) - tabulate(h, count)
  rows <- split(seq_len(nrow(deviations)), factor(strata$stratum, seq_len(count)))
  parts <- lapply(which(degrees > 0), function(k) {
    root <- qr(deviations[rows[[k]], , drop = FALSE], LAPACK = FALSE)
    root <- qr.R(root)[, order(root$pivot), drop = FALSE]
    list(root = root, spare = rep(degrees[[k]] / nrow(root) - 1, nrow(root)), of = rep(k, nrow(root)))
  })
  root <- do.call(rbind, lapply(parts, `[[`, "root"))
  of <- unlist(lapply(parts, `[[`, "of"))
  list(y = root[, 1], x = root[, -1, drop = FALSE], noise = strata$noise[of], weights = strata$weights[of],
       spare = unlist(lapply(parts, `[[`, "spare")))
}

# The data with one row for each location, followed by the rows in data$within. `constant` is 1 for the rows of
# locations and 0 for the rows within locations.
with_rows_within <- function(data) {
  within <- data$within
  if (is.null(within)) return(data)
  data$constant <- rep(1:0, c(length(data$y), length(within$y)))
  for (name in c("y", "noise", "weights")) data[[name]] <- c(data[[name]], within[[name]])
  data$x <- rbind(data$x, within$x)
  data
}

# The factor of the covariance of the rows of with_rows_within(), from the factor for the locations.
with_factor_within <- function(factor, data, model) {
  within <- data$within
  if (is.null(within)) return(factor)
  n <- length(data$y)
  variance <- NULL
  stacked <- function(b, f, g) {
    b <- as.matrix(b)
    rbind(as.matrix(f(b[seq_len(n), , drop = FALSE])), g(b[-seq_len(n), , drop = FALSE]))
  }
  top <- function(b) b[seq_len(n), , drop = FALSE]
  replace(factor, c("refill", "diagonal", "solve", "slope", "inverse_diagonal", "inverse_times", "spare_logdet"), list(
    function(theta) {
      variance <<- noise_variance(within, model, theta)
      factor$refill(theta)
    },
    function() c(factor$diagonal(), sqrt(variance)),
    function(b, transposed = FALSE) stacked(b, function(b) factor$solve(b, transposed), function(b) b / sqrt(variance)),
    function(theta, left, right) factor$slope(theta, top(left), top(right)),
    function() c(factor$inverse_diagonal(), 1 / variance),
    function(b) stacked(b, factor$inverse_times, function(b) b / variance),
    function() list(value = within$constant + sum(within$spare * log(variance)),
                    slope = sum(within$spare / variance / within$weights))
  ))
}

# The data of a fit with a row for each observation.
observed_data <- function(object) {
  if (is.null(object$data$within)) return(object$data)
  observation_data(object$parts, object$known$beta, object$center)
}

# For leave_one_out(): `alpha`, `z` and the diagonal of K^-1 of all observations, computed from K^-1 of the locations.
inverse_of_observations <- function(object, diagonal) {
  data <- observed_data(object)
  of <- object$data$location
  noise <- noise_variance(data, object$model, object$theta)
  share <- noise_variance(object$data, object$model, object$theta)[of] / noise # weights in means over a location
  within <- function(v) (v - rowsum(share * v, of)[of, , drop = FALSE]) / noise
  x <- unname(data$x)
  residual <- cbind(data$y - if (ncol(x)) as.vector(x %*% object$beta) else 0)
  z <- if (ncol(x)) t(backsolve(object$state$root, t(within(x)), transpose = TRUE)) else x
  list(alpha = as.vector(within(residual)) + share * object$state$alpha[of],
       z = z + share * object$state$z[of, , drop = FALSE],
       diagonal = (1 - share) / noise + share^2 * diagonal[of])
}

# Draws of the errors of the trend due to the noise within locations: z' e, where e is the noise of the rows in
# data$within, and z is their part of K^-1 X R^-1 with R' R = X' K^-1 X.
noise_within <- function(object, nsim) {
  within <- object$data$within
  if (is.null(within) || all(within$x == 0)) return(0)
  sd <- sqrt(noise_variance(within, object$model, object$theta))
  white <- t(backsolve(object$state$root, t(within$x / sd), transpose = TRUE))
  crossprod(white, normal_numbers(length(sd), nsim))
}
