# The scale of a covariance at parameters theta: the variance of an observation, and how parameters of user-defined
# formulas change it.

# Rows of u that stand for all points, evenly spaced.
typical_sites <- function(u, most = 50) {
  u[unique(round(seq(1, nrow(u), length.out = min(nrow(u), most)))), , drop = FALSE]
}

# The variance of an observation, nugget included, on average over the sites of a model with bounds.
total_variance <- function(model, theta) {
  own <- model$own %||% model
  theta <- unname(theta)[seq_len(nrow(own$parameters))]
  mean_variance(own, theta) + if (length(own$nugget)) theta[[own$nugget]] else 0
}

mean_variance <- function(model, theta) {
  field <- site_variances(model, theta)
  sum(field) / max(1, length(field))
}

site_variances <- function(model, theta) {
  field <- as.vector(covariance_diagonal(model)(list(theta = theta, x = model$sites)))
  field[is.finite(field)]
}

# The factor of the covariance at theta by which its variance is nearly that of the response; 1 where it has none,
# or where that at one site is more than `most` times that at another: then theta is far from any estimate.
scale_factor <- function(model, theta, variance, most = Inf) {
  field <- site_variances(model, theta)
  factor <- 0.9 * variance / mean(field)
  if (is.finite(factor) && factor > 0 && max(field) / most <= min(field)) factor else 1
}

# Adds to a model with bounds, for parameters of user-defined formulas:
#   unit        the step, on the scale of the search, that changes the covariance matrix of the sites by its size
#   multiplies  whether it is a factor of the whole covariance
# from the products of the matrix and of its derivatives with random signs. Bounds are wide enough for the factor by
# which the variance is that of the response.
with_free_parameters <- function(model, variance) {
  parameters <- model$parameters
  rows <- which(parameters$kind == "free" & !parameters$fixed)
  if (!length(rows)) return(model)
  theta <- parameters$value
  middle <- is.na(theta) & parameters$log
  theta[middle] <- sqrt(parameters$lower[middle] * parameters$upper[middle])
  theta[is.na(theta)] <- 0
  both_signs <- rows[!parameters$log[rows]]
  neutral <- replace(theta, both_signs, 0)
  if (length(site_variances(model, theta)) < nrow(model$sites)) theta <- neutral # where a given value is far too large
  sites <- model$sites
  input <- list(theta = theta, x = sites, y = sites, b = with_seed(1, random_signs(nrow(sites), 1)))
  whole <- as.vector(covariance_product(model)(input))
  change <- matrix(derivative_products(model)(input), nrow(sites))[, rows, drop = FALSE]
  change <- change * rep(ifelse(parameters$log[rows], theta[rows], 1), each = nrow(sites))
  units <- sqrt(sum(whole^2) / colSums(change^2))
  parameters$unit[rows] <- ifelse(is.finite(units) & units > 0, units, 1)
  multiplies <- parameters$log[rows] & colSums((change - whole)^2) < 1e-20 * sum(whole^2)
  parameters$multiplies <- FALSE
  parameters$multiplies[rows[multiplies %in% TRUE]] <- TRUE
  factor <- min(max(scale_factor(model, neutral, variance, 1e6), 1e-30), 1e30)
  logs <- rows[parameters$log[rows]]
  parameters$lower[logs] <- parameters$lower[logs] * min(factor, 1 / factor)
  parameters$upper[logs] <- parameters$upper[logs] * max(factor, 1 / factor)
  replace(model, "parameters", list(parameters))
}
