# The variance of an observation at parameters theta, and the sensitivity of the covariance to parameters of
# user-defined formulas. The variance and the sensitivity determine starting values and steps of a search.

# Some evenly spaced rows of u, which represent all points.
typical_sites <- function(u, max_count = 50) {
  u[spaced_rows(nrow(u), max_count), , drop = FALSE]
}

# The mean of the variance of an observation, including the nugget, over `model$sites`, which with_bounds() has chosen.
total_variance <- function(model, theta) {
  field <- model$field %||% model
  theta <- unname(theta)[seq_len(nrow(field$parameters))]
  mean_variance(field, theta) + if (length(field$nugget)) theta[[field$nugget]] else 0
}

mean_variance <- function(model, theta) {
  field <- site_variances(model, theta)
  sum(field) / max(1, length(field))
}

site_variances <- function(model, theta) {
  field <- as.vector(covariance_diagonal(model)(list(theta = theta, x = model$sites)))
  field[is.finite(field)]
}

# The factor by which the covariance at theta must be multiplied so that its variance is similar to `variance`, the
# variance of the response. The factor is 1 if the variance is zero, or if the variance differs between sites by more
# than a factor of `max_ratio`, because such a theta is far from any estimate.
scale_factor <- function(model, theta, variance, max_ratio = Inf) {
  field <- site_variances(model, theta)
  factor <- 0.9 * variance / mean(field)
  if (is.finite(factor) && factor > 0 && max(field) / max_ratio <= min(field)) factor else 1
}

# Adds columns to the table of parameters of a model with bounds. For parameters of user-defined formulas, these are
#   unit        the step, on the scale of the search, that changes the covariance matrix of the sites by about 100 %
#   multiplies  TRUE if the parameter is a factor of the whole covariance
#   middle      the value around which searches start: the user's value, unless the covariance is insensitive to the
#               parameter at this value
# Bounds include `middle`, also after `middle` is multiplied or divided by the result of scale_factor().
with_free_parameters <- function(model, variance) {
  parameters <- model$parameters
  rows <- which(parameters$kind == "free" & !parameters$fixed)
  if (!length(rows)) return(model)
  logs <- rows[parameters$log[rows]]
  both_signs <- setdiff(rows, logs)
  theta <- typical_parameters(parameters)
  neutral <- replace(theta, both_signs, 0)
  # if the covariance is infinite or tiny at a value that the user gave, zeros replace the values of parameters that may
  # have either sign
  if (!is_regular(model, theta)) theta <- neutral
  for (row in logs) theta[[row]] <- sensitive_value(model, row, theta)
  change <- relative_changes(model, theta)[rows, , drop = FALSE]
  parameters$unit[rows] <- ifelse(is.finite(change$size) & change$size > 0, 1 / change$size, 1)
  parameters$multiplies <- FALSE
  parameters$multiplies[logs] <- change$multiplies[match(logs, rows)]
  parameters$middle <- theta
  factor <- min(max(scale_factor(model, replace(theta, both_signs, 0), variance, 1e6), 1e-30), 1e30)
  parameters$lower[logs] <- pmin(parameters$lower[logs], theta[logs] * 1e-6) * min(factor, 1 / factor)
  parameters$upper[logs] <- pmax(parameters$upper[logs], theta[logs] * 1e6) * max(factor, 1 / factor)
  replace(model, "parameters", list(parameters))
}

# The values that the user gave. Other parameters have the middle of their bounds on the log scale, or zero if they may
# be negative.
typical_parameters <- function(parameters) {
  middle <- ifelse(parameters$log, sqrt(pmax(parameters$lower * parameters$upper, 0)), 0)
  ifelse(is.na(parameters$value), middle, parameters$value)
}

# TRUE if the variances at all sites are finite, and the variances at most sites are positive and within a factor of a
# million.
is_regular <- function(model, theta) {
  field <- site_variances(model, theta)
  if (length(field) < nrow(model$sites)) return(FALSE)
  most <- stats::quantile(field, c(0.1, 0.9), names = FALSE)
  most[[1]] > 0 && most[[2]] <= 1e6 * most[[1]]
}

# For each parameter, `size`, the relative change of the covariance matrix of the sites if the parameter or its
# logarithm changes by 1; and `multiplies`, which is TRUE if the parameter is a factor of the matrix. `size` and
# `multiplies` are estimated from the products of a vector of random signs with the matrix and with its derivatives.
relative_changes <- function(model, theta) {
  sites <- model$sites
  input <- list(theta = theta, x = sites, y = sites, b = with_seed(1, random_signs(nrow(sites), 1)))
  whole <- as.vector(covariance_product(model)(input))
  change <- matrix(derivative_products(model)(input), nrow(sites))
  change <- change * rep(ifelse(model$parameters$log, theta, 1), each = nrow(sites))
  data.frame(size = sqrt(colSums(change^2) / sum(whole^2)),
             multiplies = (colSums((change - whole)^2) < 1e-20 * sum(whole^2)) %in% TRUE)
}

# For a positive parameter, the value nearest to its value in theta at which the covariance is sensitive to the
# logarithm of the parameter. For example, a range that is far longer or far shorter than the distances of the sites has
# no influence.
sensitive_value <- function(model, row, theta, max_ratio = 1e8) {
  size_at <- function(value) {
    theta <- replace(theta, row, value)
    size <- if (is_regular(model, theta)) relative_changes(model, theta)$size[[row]] else 0
    if (is.finite(size)) min(size, 1) else 0
  }
  value <- theta[[row]]
  size <- size_at(value)
  if (size >= 0.1) return(value)
  others <- value * 10^(c(-1, 1) * rep(seq(0.5, log10(max_ratio), by = 0.5), each = 2))
  sizes <- vapply(others, size_at, 0)
  if (size >= 0.1 * max(sizes)) value else others[[which(sizes >= 0.5 * max(sizes))[[1]]]]
}
